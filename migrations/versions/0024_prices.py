"""Say what well-known models cost, so that an expensive one is known before anybody imports a price list.

Locks: none but those of the rows; a price that an import has written stays as it is.
Old code: reads the prices as if they had been imported.
Back: takes away the prices that no import has changed since.
"""

from alembic import op

revision = "0024"
down_revision = "0023"
branch_labels = None
depends_on = None

PRICES = """
    claude-fable-5                           10     50       1
    claude-fable-5-1                         10     50    0.25
    claude-haiku-4-5                          1      5     0.1
    claude-haiku-5-5                        0.1    0.5    0.01
    claude-opus-4-5                           5     25     0.5
    claude-opus-4-6                           5     25     0.5
    claude-opus-4-7                           5     25     0.5
    claude-opus-4-8                           5     25     0.5
    claude-opus-5                             5     25     0.5
    claude-opus-5-5                           4     20     0.2
    claude-sonnet-4-5                         3     15     0.3
    claude-sonnet-4-6                         3     15     0.3
    claude-sonnet-5                           2     10     0.2
    claude-sonnet-5-5                         2     10     0.1
    deepseek-chat                          0.28   0.42   0.028
    deepseek-flash                          0.3    1.2   0.006
    deepseek-reasoner                      0.28   0.42   0.028
    deepseek-v4-flash                       0.3    1.2   0.006
    deepseek-v4-pro                        1.32   3.96   0.044
    deepseek/deepseek-chat                 0.28   0.42   0.028
    deepseek/deepseek-coder                0.14   0.28   0.014
    deepseek/deepseek-flash                 0.3    1.2   0.006
    deepseek/deepseek-r1                   0.55   2.19    0.14
    deepseek/deepseek-reasoner             0.28   0.42   0.028
    deepseek/deepseek-v3.2                 0.28    0.4   0.028
    deepseek/deepseek-v4-flash              0.3    1.2   0.006
    deepseek/deepseek-v4-pro               1.32   3.96   0.044
    gemini-2.5-flash                        0.3    2.5    0.03
    gemini-2.5-flash-lite                   0.1    0.4    0.01
    gemini-2.5-pro                         1.25     10   0.125
    gemini-3-flash-preview                  0.5      3    0.05
    gemini-3.1-flash-lite                  0.25    1.5   0.025
    gemini-3.1-flash-lite-preview          0.25    1.5   0.025
    gemini-3.1-pro-preview                    2     12     0.2
    gemini-3.5-flash                        1.5      9    0.15
    gemini-3.5-flash-lite                   0.3    2.5    0.03
    gemini-3.6-flash                       0.75   3.75   0.075
    gemini-3.7-flash                       0.75   3.75   0.075
    gemini-3.8-flash                       0.75   3.75   0.075
    gemini/gemini-2.5-flash                 0.3    2.5    0.03
    gemini/gemini-2.5-flash-lite            0.1    0.4    0.01
    gemini/gemini-2.5-pro                  1.25     10   0.125
    gemini/gemini-3-flash-preview           0.5      3    0.05
    gemini/gemini-3.1-flash-lite           0.25    1.5   0.025
    gemini/gemini-3.1-flash-lite-preview   0.25    1.5   0.025
    gemini/gemini-3.1-pro-preview             2     12     0.2
    gemini/gemini-3.5-flash                 1.5      9    0.15
    gemini/gemini-3.5-flash-lite            0.3    2.5    0.03
    gemini/gemini-3.6-flash                0.75   3.75   0.075
    gemini/gemini-3.7-flash                0.75   3.75   0.075
    gemini/gemini-3.8-flash                0.75   3.75   0.075
    gemini/gemini-4-argon                     2     10     0.1
    gemini/gemini-4-hydrogen                1.5    7.5   0.075
    mistral/mistral-large-3                 0.5    1.5    0.05
    mistral/mistral-large-4                 0.7    2.1    0.07
    mistral/mistral-large-4-0               0.7    2.1    0.07
    mistral/mistral-medium                  1.5    7.5    0.15
    mistral/mistral-medium-3                1.5    7.5    0.15
    mistral/mistral-medium-3-5              1.5    7.5    0.15
    mistral/mistral-medium-3.5              1.5    7.5    0.15
    mistral/mistral-small                   0.1    0.3    0.01
    mistral/mistral-tiny                   0.25   0.25   0.025
    mistral/open-mistral-nemo               0.3    0.3    0.03
    moonshot/kimi-k2.5                      0.6      3     0.1
    moonshot/kimi-k2.6                     0.95      4    0.16
    moonshot/kimi-k2.7-code                0.95      4    0.19
    moonshot/kimi-k3                          3     15     0.3
    moonshot/kimi-k3.1-pro                    2     10     0.2
    moonshot/kimi-k3.1-pro-highspeed          4     20     0.2
    gpt-3.5-turbo                           0.5    1.5       -
    gpt-3.5-turbo-16k                         3      4       -
    gpt-4                                    30     60       -
    gpt-4-turbo                              10     30       -
    gpt-4.1                                   2      8     0.5
    gpt-4.1-mini                            0.4    1.6     0.1
    gpt-4.1-nano                            0.1    0.4   0.025
    gpt-4o                                  2.5     10    1.25
    gpt-4o-mini                            0.15    0.6   0.075
    gpt-5                                  1.25     10   0.125
    gpt-5-chat                             1.25     10   0.125
    gpt-5-codex                            1.25     10   0.125
    gpt-5-mini                             0.25      2   0.025
    gpt-5-nano                             0.05    0.4   0.005
    gpt-5-pro                                15    120       -
    gpt-5.1                                1.25     10   0.125
    gpt-5.1-codex                          1.25     10   0.125
    gpt-5.1-codex-max                      1.25     10   0.125
    gpt-5.1-codex-mini                     0.25      2   0.025
    gpt-5.2                                1.75     14   0.175
    gpt-5.2-codex                          1.75     14   0.175
    gpt-5.2-pro                              21    168       -
    gpt-5.3-codex                          1.75     14   0.175
    gpt-5.4                                 2.5     15    0.25
    gpt-5.4-mini                           0.75    4.5   0.075
    gpt-5.4-nano                            0.2   1.25    0.02
    gpt-5.4-pro                              30    180       -
    gpt-5.5                                   5     30     0.5
    gpt-5.5-pro                              30    180       -
    gpt-5.6                                   4     20     0.4
    gpt-5.6-luna                            0.2    1.2    0.02
    gpt-5.6-sol                               4     20     0.4
    gpt-5.6-terra                             2     12     0.2
    gpt-6-astra                              10     50       1
    gpt-6-luna                              0.1    0.5    0.01
    gpt-6-sol                                 2     10     0.2
    gpt-6.1-sol                               2     10     0.1
    gpt-6.1-terra                             1      5    0.05
    o1                                       15     60     7.5
    o1-pro                                  150    600       -
    o3                                        2      8     0.5
    o3-mini                                 1.1    4.4    0.55
    o3-pro                                   20     80       -
    o4-mini                                 1.1    4.4   0.275
    xai/grok-4.20                          1.25    2.5     0.2
    xai/grok-4.20-0309-non-reasoning       1.25    2.5     0.2
    xai/grok-4.20-0309-reasoning           1.25    2.5     0.2
    xai/grok-4.20-non-reasoning            1.25    2.5     0.2
    xai/grok-4.20-reasoning                1.25    2.5     0.2
    xai/grok-4.3                           1.25    2.5     0.2
    xai/grok-4.5                              2      6     0.3
    xai/grok-4.6                              2      6     0.5
    xai/grok-4.7                              2      6     0.5
    xai/grok-build-0.1                        1      2     0.2
    xai/grok-code-fast                        1      2     0.2
    xai/grok-code-fast-1                      1      2     0.2
    zai/glm-4.5                             0.6    2.2       -
    zai/glm-4.5-air                         0.2    1.1       -
    zai/glm-4.5-airx                        1.1    4.5       -
    zai/glm-4.5-x                           2.2    8.9       -
    zai/glm-4.5v                            0.6    1.8       -
    zai/glm-4.6                             0.6    2.2    0.11
    zai/glm-4.7                             0.6    2.2    0.11
    zai/glm-5                                 1    3.2     0.2
    zai/glm-5-code                          1.2      5     0.3
    zai/glm-5.1                             1.4    4.4    0.26
    zai/glm-5.2                             1.4    4.4    0.26
    zai/glm-5.3                             1.4    4.4    0.26
    zai/glm-5.3-flash                      0.15    0.5    0.03
    zai/glm-5v-turbo                        1.2      4    0.24
"""
"""Id, and USD for a million tokens in, out, and read from a prefix cache; - where nobody knows.

The ids are those of litellm's price list, from which the figures are: an import replaces them.
"""

ADD = """
    insert into model_price (model, input_usd, output_usd, cached_usd) values {rows}
    on conflict (model) do nothing
"""
REMOVE = """
    delete from model_price using (values {rows}) as seeded (model, input_usd, output_usd, cached_usd)
    where model_price.model = seeded.model and context_window is null
        and model_price.input_usd = seeded.input_usd and model_price.output_usd = seeded.output_usd
        and model_price.cached_usd is not distinct from seeded.cached_usd
"""


def upgrade() -> None:
    """Add what is not known yet."""
    op.execute(ADD.format(rows=_rows()))


def downgrade() -> None:
    """Forget what this added."""
    op.execute(REMOVE.format(rows=_rows()))


def _rows() -> str:
    listed = (line.split() for line in PRICES.strip().splitlines())
    return ", ".join(
        f"('{model}', {paid}, {answered}, {'null::numeric' if cached == '-' else cached})"
        for model, paid, answered, cached in listed
    )
