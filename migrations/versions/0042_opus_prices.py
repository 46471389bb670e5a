"""Say what the earlier models of the Opus class cost under their makers' own names.

Locks: none but those of the rows; a price that an import has written stays as it is.
Old code: reads the prices as if they had been imported.
Back: takes away the prices that no import has changed since.
"""

from alembic import op

revision = "0042"
down_revision = "0041"
branch_labels = None
depends_on = None

MODELS = ("claude-3-opus", "claude-opus-4", "claude-opus-4-1", "claude-4-opus")


def upgrade() -> None:
    """Add the prices that are missing, in US dollars a million tokens."""
    rows = ", ".join(f"('{model}', 15, 75, 1.5)" for model in MODELS)
    op.execute(
        f"insert into model_price (model, input_usd, output_usd, cached_usd) values {rows} "  # noqa: S608 (names of ours)
        "on conflict (model) do nothing"
    )


def downgrade() -> None:
    """Forget what this added."""
    names = ", ".join(f"'{model}'" for model in MODELS)
    op.execute(
        f"delete from model_price where model in ({names}) and context_window is null "  # noqa: S608 (names of ours)
        "and (input_usd, output_usd, cached_usd) = (15, 75, 1.5)"
    )
