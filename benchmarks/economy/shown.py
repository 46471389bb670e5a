"""The tables."""

from collections.abc import Sequence
from typing import Any

from rich.console import Console
from rich.table import Table

from benchmarks.economy.account import TARIFFS
from benchmarks.economy.beside import Peer
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
        whole.lost += one.lost
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
        "read_anew": dict(one.lost.most_common()),
    }


def peer_rows(peers: Sequence[Peer], outcomes: Sequence[Outcome]) -> list[dict[str, Any]]:
    """Write a line for each system, set and window, and for all sets together."""
    known = {(one.data, one.window): one for one in (*outcomes, *total(outcomes))}
    every: dict[tuple[str, int], Peer] = {}
    for peer in peers:
        whole = every.setdefault((peer.name, peer.window), Peer(peer.name, "all", peer.window))
        whole.bill.add(peer.bill)
        whole.spent.add(peer.spent)
        whole.over += peer.over
    return [_peer_row(peer, known[peer.data, peer.window]) for peer in (*peers, *every.values())]


def _peer_row(peer: Peer, ours: Outcome) -> dict[str, Any]:
    cut, bill, spent = ours.cut, peer.bill, peer.spent
    return {
        "system": peer.name,
        "data": peer.data,
        "window": peer.window,
        "background_per_token": spent.tokens / max(ours.tokens, 1),
        "calls": spent.calls,
        "served_tokens": bill.tokens,
        "over": peer.over,
        "cached_share": bill.cached_share,
        "net_tokens": cut.tokens - bill.tokens - spent.tokens,
        "net_usd": {t.name: cut.usd(t) - bill.usd(t) - spent.usd for t in TARIFFS},
        "evidence": bill.found / bill.known if bill.known else None,
    }


def show_peers(rows: Sequence[dict[str, Any]]) -> None:
    """Print what other systems cost and save on the same conversations."""
    heads = ("system", "set", "window", "a token said", "calls", "served", "over", "cached", "net tokens")
    table = Table(*heads, *(f"net $ {tariff.name}" for tariff in TARIFFS), "evidence", title="Other systems")
    for row in rows:
        table.add_row(
            row["system"],
            row["data"],
            f"{row['window']:,}",
            f"{row['background_per_token']:.2f}",
            *(f"{row[name]:,}" for name in ("calls", "served_tokens", "over")),
            f"{row['cached_share']:.0%}",
            f"{row['net_tokens']:+,}",
            *(f"{value:+.2f}" for value in row["net_usd"].values()),
            "-" if row["evidence"] is None else f"{row['evidence']:.3f}",
        )
    Console(width=WIDTH).print(table)


def show(rows: Sequence[dict[str, Any]]) -> None:
    """Print what was spent and saved, and what became of what was made."""
    console = Console(width=WIDTH)
    console.print(_money(rows))
    console.print(_use(rows))
    console.print(_losses(rows))


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


def _losses(rows: Sequence[dict[str, Any]]) -> Table:
    title = "Read anew beside the new messages: the first part that changed, and the tokens from it on"
    table = Table("set", "window", "tokens", "before -> after", title=title)
    for row in rows:
        for place, (change, tokens) in enumerate(row["read_anew"].items()):
            head = ("", "") if place else (row["data"], f"{row['window']:,}")
            table.add_row(*head, f"{tokens:,}", change)
    return table


def _use(rows: Sequence[dict[str, Any]]) -> Table:
    heads = ("set", "window", "spent by purpose: tokens a token said (calls)", *USES, "summaries refused")
    table = Table(*heads, title="Made, and ever shown")
    for row in rows:
        said = max(row["conversation_tokens"], 1)
        spent = ", ".join(
            f"{name} {(one['input_tokens'] + one['output_tokens']) / said:.2f} ({one['calls']:,})"
            for name, one in row["by_purpose"].items()
        )
        uses = (f"{row['used'].get(name, 0):,} of {row['made'].get(name, 0):,}" for name in USES)
        refused = f"{row['made'].get('refused', 0):,}"
        table.add_row(row["data"], f"{row['window']:,}", spent or "-", *uses, refused)
    return table
