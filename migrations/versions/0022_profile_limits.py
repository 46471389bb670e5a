"""Ask no model for more output, and send none more input, than its maker takes.

Locks: ROW EXCLUSIVE on model_profile for an instant.
Old code: reads the rows as it reads all others.
Back: the models fall back to the profiles of shorter prefixes, and some requests are refused by providers.
"""

from alembic import op

revision = "0022"
down_revision = "0021"
branch_labels = None
depends_on = None

PROFILES = """
    anthropic/claude-3-haiku                A   192000  4000      0 S..C    300
    anthropic/claude-3-opus                 A   192000  4000      0 S..C    300
    anthropic/claude-3-sonnet               A   192000  4000      0 S..C    300
    anthropic/claude-3-5-sonnet-20240620    A   192000  4000      0 S..C    300
    openai/gpt-3.5-turbo-0613               B     2000  2000  12000 ....      -
    openai/gpt-3.5-turbo-instruct           B     2000  2000  12000 ....      -
    google/gemini-gemma-2                   B     6500  1500  12000 ....      -
    x-ai/grok-2-vision                      B    30000  2000  22000 S...      -
    moonshotai/kimi-k2.7-code               C   227000  1500  10000 .HF.      -
"""
"""Start of ids, tier, safe input and output, catalog bytes (0 for all), flags, seconds of the prefix cache.

Flags: S keeps to a JSON schema, H thinks before it answers, F profits from a filter pass, C caches prefixes.
"""

INPUTS = (
    ("openai/gpt-5.1-chat", 120_000, 111_000),
    ("openai/gpt-5.2-chat", 120_000, 111_000),
    ("openai/gpt-5.3-chat", 120_000, 111_000),
)
"""A prefix, its safe input before, and since: their output is taken out of the window first, all of it."""

ADD_PROFILE = (
    "insert into model_profile values ('{prefix}', '{tier}', {input}, {output}, {catalog}, "
    "{strict}, {hybrid}, {filter}, {cache}, {ttl})"
)
DROP_PROFILE = "delete from model_profile where prefix = '{prefix}'"
SET_INPUT = "update model_profile set input_tokens = {input} where prefix = '{prefix}'"


def upgrade() -> None:
    """Say what is known of further models, and correct what was said."""
    for line in PROFILES.strip().splitlines():
        prefix, tier, most_in, most_out, catalog, flags, ttl = line.split()
        op.execute(
            ADD_PROFILE.format(
                prefix=prefix,
                tier=tier,
                input=most_in,
                output=most_out,
                catalog=catalog,
                strict="S" in flags,
                hybrid="H" in flags,
                filter="F" in flags,
                cache="C" in flags,
                ttl="null" if ttl == "-" else ttl,
            )
        )
    for prefix, _, since in INPUTS:
        op.execute(SET_INPUT.format(prefix=prefix, input=since))


def downgrade() -> None:
    """Take back what was added and corrected."""
    for line in PROFILES.strip().splitlines():
        op.execute(DROP_PROFILE.format(prefix=line.split()[0]))
    for prefix, before, _ in INPUTS:
        op.execute(SET_INPUT.format(prefix=prefix, input=before))
