"""Recall over passages at hand, without a search in a database."""

from collections.abc import Callable, Iterable, Sequence

from context.recall.passages import Passage
from context.recall.ranking import RecallStats, weigh_terms
from context.recall.selection import RecallBlock, choose_blocks
from context.text.terms import query_terms


def stats_of(passages: Sequence[Passage], terms: Iterable[str]) -> RecallStats:
    """Count in how many passages each term occurs, where all passages of a session are at hand."""
    return RecallStats(
        len(passages), {term: sum(term in passage.terms for passage in passages) for term in terms}
    )


def select_recall(
    query: str,
    passages: Sequence[Passage],
    *,
    max_tokens: int,
    max_facts: int,
    count: Callable[[str], int],
    stats: RecallStats | None = None,
) -> list[RecallBlock]:
    """Choose what a request should see again of the turns that its window does not show.

    Args:
        query: The new message.
        passages: The session's passages, or those found for the query, in the order of the conversation.
        max_tokens: The most tokens of all blocks with their labels, >= 0; the region's frame comes on top.
        max_facts: The most blocks, >= 0.
        count: Counts the tokens of a text.
        stats: The session's counts; None where `passages` is all of it.

    Returns:
        The blocks, in the order of the conversation; none where nothing bears on the query.
    """
    terms = query_terms(query)
    weights = weigh_terms(terms, stats or stats_of(passages, terms))
    return choose_blocks(passages, weights, max_tokens=max_tokens, max_facts=max_facts, count=count)
