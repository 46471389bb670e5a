"""Old readings are told from good ones."""

from hypothesis import given
from hypothesis import strategies as st

from context.artifacts.subjects import UNKNOWN_SUBJECT, Subject
from context.artifacts.superseded import (
    Access,
    Superseded,
    SupersededReason,
    find_superseded,
    superseded_artifacts,
)

FILE = Subject("path:a.py", "read")
PART = Subject("path:a.py", "read", "limit=10 offset=1")
LISTING = Subject("path:a.py", "stat")
EDIT = Subject("path:a.py", "edit", writes=True)
OTHER = Subject("path:b.py", "read")


def accesses(*subjects: Subject) -> list[Access]:
    return [Access(10 * place, subject, f"art_{place}") for place, subject in enumerate(subjects, 1)]


def test_a_file_read_again_supersedes_the_earlier_reading() -> None:
    assert find_superseded(accesses(FILE, OTHER, FILE)) == {0: Superseded(SupersededReason.READ_AGAIN, 30)}


def test_a_reading_before_a_change_is_stale() -> None:
    assert find_superseded(accesses(FILE, EDIT)) == {0: Superseded(SupersededReason.CHANGED, 20)}


def test_a_reading_after_the_change_is_good() -> None:
    assert find_superseded(accesses(EDIT, FILE)) == {}


def test_the_last_of_several_changes_is_named() -> None:
    assert find_superseded(accesses(FILE, EDIT, EDIT))[0].by_seq == 30


def test_a_change_makes_a_part_stale_too() -> None:
    assert find_superseded(accesses(PART, EDIT)) == {0: Superseded(SupersededReason.CHANGED, 20)}


def test_a_part_is_superseded_by_the_whole_and_not_the_whole_by_a_part() -> None:
    assert set(find_superseded(accesses(PART, FILE))) == {0}
    assert find_superseded(accesses(FILE, PART)) == {}


def test_another_part_or_another_look_supersedes_nothing() -> None:
    assert find_superseded(accesses(PART, Subject("path:a.py", "read", "offset=99"), LISTING)) == {}


def test_the_result_of_a_change_is_no_reading() -> None:
    assert find_superseded(accesses(EDIT, EDIT, FILE)) == {}


def test_the_same_content_counts_once_and_the_last_time() -> None:
    twice = [Access(1, UNKNOWN_SUBJECT, "art_x"), Access(2, UNKNOWN_SUBJECT, "art_x")]
    assert find_superseded(twice) == {0: Superseded(SupersededReason.REPEATED, 2)}
    assert superseded_artifacts(twice) == {}


def test_unknown_subjects_are_never_the_same_thing() -> None:
    assert find_superseded(accesses(UNKNOWN_SUBJECT, UNKNOWN_SUBJECT)) == {}


def test_an_artifact_is_good_while_its_last_reading_is() -> None:
    changed_back = [Access(1, FILE, "art_x"), Access(2, EDIT), Access(3, FILE, "art_x")]
    assert superseded_artifacts(changed_back) == {}
    assert superseded_artifacts([*changed_back, Access(4, EDIT)]) == {
        "art_x": Superseded(SupersededReason.CHANGED, 4)
    }


subjects = st.sampled_from((FILE, PART, LISTING, EDIT, OTHER, UNKNOWN_SUBJECT))


@given(st.lists(subjects, max_size=12))
def test_the_last_call_is_never_old_and_what_is_old_names_a_later_call(drawn: list[Subject]) -> None:
    listed = accesses(*drawn)
    old = find_superseded(listed)
    assert len(listed) - 1 not in old
    assert all(reason.by_seq > listed[index].seq for index, reason in old.items())


@given(st.lists(subjects, max_size=10), subjects)
def test_a_further_call_never_makes_an_old_reading_good(drawn: list[Subject], further: Subject) -> None:
    listed = accesses(*drawn, further)
    assert set(find_superseded(listed[:-1])) <= set(find_superseded(listed))
