"""The words of a request point at the first entries of a ranking, or at none."""

import pytest

from context.ranking.index import index_tools
from context.ranking.rank import LEAST, count_near, rank

PLAYERS = [{"name": f"play_{each}", "description": f"Plays a {each}."} for each in ("song", "video", "game")]
THINGS = [{"name": f"thing_{number}", "description": "Looks after the depot."} for number in range(97)]
TOOLS = [*PLAYERS, *THINGS]


@pytest.mark.parametrize(
    ("asked", "number"),
    [("play a song", LEAST), ("look after the depot", 97), ("zqx wvu", None), ("", None)],
)
def test_entries_of_a_fifth_of_the_best_score_are_near(asked: str, number: int | None) -> None:
    assert count_near(rank(index_tools(TOOLS), asked)) == number


def test_an_empty_catalog_has_nothing_near() -> None:
    assert count_near(rank(index_tools([]), "play a song")) is None
