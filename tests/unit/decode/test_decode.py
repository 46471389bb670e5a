"""JSON in replies: what is found, what is put right, and why there is none."""

import json

import pytest
from hypothesis import given
from hypothesis import strategies as st

from context.decode import AnswerPlace, DecodeCause, Decoded, ReplyRepair, decode_json
from tests.unit.decode.corpus import CASES, PLAN, PLAN_TEXT, Case
from tests.unit.linear.growth import grows_in_proportion
from tests.unit.linear.texts import Shape

PLANS = {
    "type": "object",
    "required": ["steps"],
    "properties": {"steps": {"type": "array", "items": {"type": "object"}}},
}

leaves = (
    st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False, allow_infinity=False) | st.text()
)
members = st.recursive(
    leaves, lambda inner: st.lists(inner, max_size=4) | st.dictionaries(st.text(), inner, max_size=4)
)
plans = st.lists(st.dictionaries(st.text(), members, max_size=4), max_size=4).map(
    lambda steps: {"steps": steps}
)


def is_plan(value: object) -> bool:
    return isinstance(value, dict) and isinstance(value.get("steps"), list)


def read_plan(text: str) -> object:
    return decode_json(text, accept=is_plan)


def anything(_: object) -> bool:
    return True


@pytest.mark.parametrize("case", CASES, ids=lambda case: case.name)
def test_every_shape_of_the_corpus_comes_out_as_written_down(case: Case) -> None:
    decoded = decode_json(case.reply, accept=PLANS, finish_reason=case.finish_reason)
    assert (decoded.value, decoded.cause) == (case.value, case.cause)
    assert frozenset(decoded.repairs) == case.repairs


def test_the_corpus_is_large_and_its_names_differ() -> None:
    assert len({case.name for case in CASES}) == len(CASES) >= 60


@pytest.mark.parametrize("value", [[], {}, None, 0, "", False])
def test_an_empty_value_is_an_answer(value: object) -> None:
    decoded = decode_json(json.dumps(value), accept=lambda got: got == value and type(got) is type(value))
    assert decoded == Decoded(value, how=AnswerPlace.RAW)
    assert decoded.ok


def test_an_empty_list_in_prose_is_an_answer() -> None:
    decoded = decode_json("Nothing fits: []", accept={"type": "array"})
    assert decoded.ok
    assert decoded.value == []


def test_values_one_a_line_are_joined_where_a_list_is_wanted() -> None:
    decoded = decode_json('{"a": 1}\n{"a": 2}', accept={"type": "array", "minItems": 2})
    assert decoded.value == [{"a": 1}, {"a": 2}]
    assert decoded.repairs == (ReplyRepair.JOINED,)


@given(plans, st.booleans())
def test_a_plan_comes_back_as_it_was_written(plan: object, ascii_only: bool) -> None:
    text = json.dumps(plan, ensure_ascii=ascii_only)
    clean = decode_json(text, accept=is_plan)
    assert clean.how is AnswerPlace.RAW
    assert clean.value == plan or ReplyRepair.CLEANED in clean.repairs


@given(
    plans,
    st.sampled_from(
        ["Here it is: {}", "```json\n{}\n```", "<think>hm [x]</think>\n{}", "a {{b}} c\n{}\nd [e]"]
    ),
)
def test_what_stands_around_a_plan_does_not_change_it(plan: object, around: str) -> None:
    text = around.replace("{{b}}", "{b}").replace("{}", json.dumps(plan))
    assert decode_json(text, accept=is_plan).value == decode_json(json.dumps(plan), accept=is_plan).value


@given(plans, st.data())
def test_a_plan_that_was_cut_off_is_never_an_answer(plan: object, data: st.DataObject) -> None:
    text = json.dumps(plan)
    stop = data.draw(st.integers(min_value=1, max_value=len(text) - 1))
    decoded = decode_json(text[:stop], accept=is_plan)
    assert decoded.cause in {DecodeCause.TRUNCATED, DecodeCause.MALFORMED}


@given(st.text(alphabet="{}[]\":,\\/*#'`~ \n1ae-<>think", max_size=200))
def test_any_text_has_a_value_or_a_cause_and_never_both(text: str) -> None:
    decoded = decode_json(text, accept=is_plan)
    assert decoded.ok == is_plan(decoded.value)


@given(st.text())
def test_what_is_found_can_be_stored(text: str) -> None:
    decoded = decode_json(f'{{"steps": [{{"a": {json.dumps(text)}}}]}}', accept=is_plan)
    assert "\0" not in json.dumps(decoded.value, ensure_ascii=False).encode().decode()


@pytest.mark.parametrize(
    "piece",
    [
        "[",
        "{",
        "[1,",
        '{"a":',
        '{"a',
        "[/*",
        "[//",
        "[# ",
        "<think>",
        "</think>",
        "[[]",
        "{x:",
        '["\\',
        "[1 ",
        "```json\n",
        '["x" y',
        "{'",
        "[\n",
        "{“",
    ],
)
def test_a_hostile_megabyte_is_read_in_linear_time(piece: str) -> None:
    """Anything but a linear reader needs minutes or hours for these."""
    assert decode_json(piece * (2**20 // len(piece)), accept=is_plan).cause is not None
    assert grows_in_proportion(read_plan, Shape(piece).text)


@pytest.mark.parametrize(
    ("start", "piece", "end"),
    [
        ("", "`", "!"),
        ("[", "1", "x"),
        ("{", "a", ""),
        ("", '"', ""),
        ('["', "\\", ""),
        ("[", " ", "x"),
        ("<think ", "a", ""),
        ("```json\n", " \n", "x"),
        ("[1.", "1", "e"),
        ("[/*", "*", ""),
    ],
)
def test_a_hostile_megabyte_of_one_kind_is_read_in_linear_time(start: str, piece: str, end: str) -> None:
    assert decode_json(start + piece * (2**20 // len(piece)) + end, accept=is_plan).cause is not None
    assert grows_in_proportion(read_plan, Shape(piece, end, start).text)


def test_an_answer_behind_a_long_text_is_found() -> None:
    prose = 'He wrote [see 4] and {"a": 1} there. ' * 1_000
    assert decode_json(prose + PLAN_TEXT, accept=PLANS).value == PLAN
