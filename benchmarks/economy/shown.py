"""The tables."""

from collections.abc import Sequence
from typing import Any

from rich.console import Console
from rich.table import Table

from benchmarks.economy.account import TARIFFS
from benchmarks.economy.lockstep import Outcome

WIDTH = 210
USES = ("summaries", "readings", "plans")


def total(outcomes: Sequence[Outcome]) -> list[Outcome]:
    """Add up the sets, window by window."""
    found: dict[int, Outcome] = {}
    for one in outcomes:
        whole = found.setdefault(one.window, Outcome("all", one.window))
        whole.conversations += one.conversations
        whole.tokens += one.tokens
        whole.ours.add(one.ours)
        whole.cut.add(one.cut)
        whole.background.add(one.background)
    return list(found.values())


def row_of(one: Outcome) -> dict[str, Any]:
    """Write the figures of one line."""
    background, ours, cut = one.background, one.ours, one.cut
    return {
        "data": one.data,
        "window": one.window,
        "conversations": one.conversations,
        "conversation_tokens": one.tokens,
        "requests": ours.requests,
        "background_tokens": background.tokens,
        "background_per_token": background.tokens / max(one.tokens, 1),
        "by_purpose": {name: vars(spent) for name, spent in background.spent.items()},
        "made": background.made,
        "used": background.used,
        "served_tokens": ours.tokens,
        "cut_tokens": cut.tokens,
        "cached_share": ours.cached_share,
        "cut_cached_share": cut.cached_share,
        "net_tokens": cut.tokens - ours.tokens - background.tokens,
        "net_usd": {t.name: cut.usd(t) - ours.usd(t) - background.usd for t in TARIFFS},
        "evidence": ours.found / ours.known if ours.known else None,
        "cut_evidence": cut.found / cut.known if cut.known else None,
        "known": ours.known,
    }


def show(rows: Sequence[dict[str, Any]]) -> None:
    """Print what was spent and saved, and what became of what was made."""
    console = Console(width=WIDTH)
    console.print(_money(rows))
    console.print(_use(rows))


def _money(rows: Sequence[dict[str, Any]]) -> Table:
    heads = ("set", "window", "talks", "said", "requests", "background", "a token said", "served", "cut")
    more = ("cached", "cut's", "net tokens", *(f"net $ {tariff.name}" for tariff in TARIFFS))
    ends = ("evidence", "cut's", "of")
    title = "Against history that is cut where it does not fit; net is what is saved"
    table = Table(*heads, *more, *ends, title=title)
    for row in rows:
        evidence = [row["evidence"], row["cut_evidence"]]
        table.add_row(
            row["data"],
            f"{row['window']:,}",
            *(f"{row[name]:,}" for name in ("conversations", "conversation_tokens", "requests")),
            f"{row['background_tokens']:,}",
            f"[bold]{row['background_per_token']:.2f}[/bold]",
            *(f"{row[name]:,}" for name in ("served_tokens", "cut_tokens")),
            *(f"{row[name]:.0%}" for name in ("cached_share", "cut_cached_share")),
            f"{row['net_tokens']:+,}",
            *(f"{value:+.2f}" for value in row["net_usd"].values()),
            *("-" if share is None else f"{share:.3f}" for share in evidence),
            str(row["known"]),
        )
    return table


def _use(rows: Sequence[dict[str, Any]]) -> Table:
    table = Table("set", "window", "spent by purpose (calls)", *USES, title="Made, and ever shown")
    for row in rows:
        said = max(row["conversation_tokens"], 1)
        spent = ", ".join(
            f"{name} {(one['input_tokens'] + one['output_tokens']) / said:.2f} ({one['calls']:,})"
            for name, one in row["by_purpose"].items()
        )
        uses = (f"{row['used'].get(name, 0):,} of {row['made'].get(name, 0):,}" for name in USES)
        table.add_row(row["data"], f"{row['window']:,}", spent or "-", *uses)
    return table
