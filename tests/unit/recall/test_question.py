"""The question of a request: what the user said, and nothing that only looks like it."""

from context.recall.ranking import MAX_CHARS, find_question
from context.types import Wire
from tests.unit.histories import answers, calls, number, says


def test_the_new_words_of_users_are_the_question() -> None:
    new = [says("user", "Hello."), says("user", "Where is the depot?")]
    assert find_question(new, number([says("user", "Something else.")])) == "Hello.\nWhere is the depot?"


def test_where_a_turn_goes_on_its_first_words_stay_the_question() -> None:
    tail = number([says("user", "Old."), says("user", "Where is the depot?"), *calls(["c1"])])
    assert find_question(answers(["c1"], "At the north gate."), tail) == "Where is the depot?"


def test_results_of_tools_are_never_the_question() -> None:
    assert find_question(answers(["c1"], "At the north gate."), answers(["c0"], "nothing")) == ""


def test_words_are_read_in_every_format() -> None:
    for wire in Wire:
        assert find_question([says("user", "Where is the depot?", wire)]) == "Where is the depot?"


def test_of_a_long_message_the_beginning_and_the_end_ask() -> None:
    question = find_question([says("user", "First words. " + "log line\n" * 9_000 + "What went wrong?")])
    assert question.startswith("First words.")
    assert question.endswith("What went wrong?")
    assert len(question) <= MAX_CHARS + 1
