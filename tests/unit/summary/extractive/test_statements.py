# ruff: noqa: RUF001 - messages in several scripts
"""Statements: no value ever leaves the item that it is of."""

import json
import re

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from context.conversation.transcript import LineKind, RenderedLine
from context.summary.extractive.output_facts import read_facts
from context.summary.extractive.statements import MOST_CHARS, read_statements, shorten
from context.summary.extractive.summarize import summarize
from context.summary.prompt import SummaryInput
from context.types import Role

FLIGHTS = """Here are your new flights:

1. **JFK to SFO**: Flight HAT023 on 2024-05-26
   - Price: $364
2. **SFO to SEA**: Flight HAT134
   - Price: $580
3. **SEA to JFK**: Flight HAT201
   - Price: $681

**Total Price**: $1,625"""


def test_every_price_stays_with_its_flight() -> None:
    told = "\n".join(read_statements(FLIGHTS))
    assert re.search(r"JFK to SFO: Flight HAT023 on 2024-05-26; Price: \$364", told)
    assert re.search(r"SFO to SEA: Flight HAT134; Price: \$580", told)
    assert "Total Price: $1,625" in read_statements(FLIGHTS)


def test_it_does_so_without_any_indentation() -> None:
    flat = "1. A to B\n- Price: $364\n2. B to C\n- Price: $580"
    assert read_statements(flat) == ["A to B: Price: $364", "B to C: Price: $580"]


@pytest.mark.parametrize(
    ("message", "statements"),
    [
        ("", []),
        ("## Plan A\nTotal: $5\n\n## Plan B\nTotal: $7", ["Plan A: Total: $5", "Plan B: Total: $7"]),
        (
            "Name: A1\nPrice: 5\n\nName: B2\nPrice: 7",
            ["Name: A1; Price: 5", "Name: B2; Price: 7"],
        ),
        ("| Leg | Price |\n|---|---|\n| A | $1 |", ["Leg | Price: A | $1"]),
        ("The steps are:\n```\nmake\n```\nShould I proceed?", ["Should I proceed?"]),
        ("Ok. The depot opens at nine.", ["Ok. The depot opens at nine."]),
        ("选项：\n1、北京：100元\n2、上海：200元", ["选项： 北京：100元; 上海：200元"]),
        (
            "The carrier says that the parcel left the depot on Monday\nand that it will be here soon.",
            ["The carrier says that the parcel left the depot on Monday and that it will be here soon."],
        ),
        (
            "- Flight A … [900 characters left out] …   - Price: $9\n\nShall I book?",
            ["Flight A", "Shall I book?"],
        ),
    ],
)
def test_a_message_is_taken_apart_where_it_has_joints(message: str, statements: list[str]) -> None:
    assert read_statements(message) == statements


def test_a_long_list_repeats_what_it_stands_under() -> None:
    items = "\n".join(f"- item{n}: a rather long description of the thing number {n}" for n in range(30))
    told = read_statements(f"Options for Berlin:\n{items}")
    assert len(told) > 1
    assert all(one.startswith("Options for Berlin: ") for one in told)


def test_a_statement_is_shortened_between_its_parts_and_says_so() -> None:
    assert shorten("Price: $364; Seat: 12A; Meal: none", 26) == "Price: $364; Seat: 12A…"
    assert shorten("short", 5) == "short"


VALUES = st.lists(
    st.tuples(
        st.sampled_from(["1. ", "- ", "* ", "**b**", "### ", ""]),
        st.sampled_from(["", "   ", "\n"]),
        st.lists(st.sampled_from(["- ", "  - ", "   * ", "", "    "]), min_size=1, max_size=4),
    ),
    min_size=1,
    max_size=12,
)


def _message(shape: list[tuple[str, str, list[str]]], start: int = 0) -> str:
    """Write items, each with values that name it: thing7 has v7x0, v7x1 and so on."""
    rows: list[str] = []
    for number, (mark, _, values) in enumerate(shape, start):
        name = f"thing{number}"
        rows.append(f"**{name}**" if mark == "**b**" else f"{mark}{name}: about it" if mark else f"{name}:")
        indent = "  " if mark in {"- ", "* "} else ""
        rows.extend(f"{indent}{lead}Price: v{number}x{place}" for place, lead in enumerate(values))
        rows.append("")
    return "\n".join(rows)


_TOKEN = re.compile(r"thing(\d+)|v(\d+)x\d+")


def _false_pairs(line: str) -> list[str]:
    """Values that stand behind the name of another thing, or of none."""
    owner = None
    wrong = []
    for found in _TOKEN.finditer(line):
        if found[1]:
            owner = found[1]
        elif found[2] != owner:
            wrong.append(found[0])
    return wrong


@settings(max_examples=80)
@given(VALUES)
def test_no_statement_gives_a_thing_the_value_of_another(shape: list[tuple[str, str, list[str]]]) -> None:
    told = read_statements(_message(shape))
    assert [one for one in told if _false_pairs(one)] == []


def _words(seq: int, text: str) -> list[RenderedLine]:
    role = Role.ASSISTANT if seq % 2 else Role.USER
    return [RenderedLine(seq, LineKind.TEXT, role, str(role), text, seq)]


def _output(seq: int, text: str) -> list[RenderedLine]:
    return [
        RenderedLine(
            seq, LineKind.CALL, Role.ASSISTANT, "assistant", f'run(page="p{seq}")', seq, call_id=f"c{seq}"
        ),
        RenderedLine(seq, LineKind.RESULT, Role.TOOL, "run", text, seq, call_id=f"c{seq}"),
    ]


@settings(max_examples=20)
@given(st.lists(VALUES, min_size=1, max_size=6), st.integers(60, 500), st.booleans(), st.booleans())
def test_no_line_of_a_summary_states_a_pair_that_no_message_states(
    shapes: list[list[tuple[str, str, list[str]]]], budget: int, rolls: bool, is_output: bool
) -> None:
    """Words of speakers, or plain outputs of tools."""
    lines = tuple(
        line
        for seq, shape in enumerate(shapes, 1)
        for line in (_output if is_output else _words)(seq, _message(shape, 100 * seq))
    )
    summary = summarize(SummaryInput(lines, budget, "en"))
    if rolls:
        summary = summarize(SummaryInput(lines[:1], budget, "en", summary))
    assert [line for line in summary.splitlines() if _false_pairs(line)] == []


@given(st.text(max_size=400))
def test_any_text_gives_statements_on_one_line_of_bounded_length(text: str) -> None:
    for statement in read_statements(text):
        assert "\n" not in statement
        assert len(statement) <= MOST_CHARS + 8


USER = (
    '{"name": {"first_name": "Mia", "last_name": "Li"}, "payment_methods": {"certificate_2765295": {"source":'
    ' "certificate", "amount": 250, "id": "certificate_2765295"}, "gift_card_1": {"source": "gift_card",'
    ' "amount": 113}}, "reservations": ["NO6JO3", "AIXC49"]}'
)


def test_ids_of_a_tools_output_keep_their_keys() -> None:
    told = "\n".join(fact.text for fact in read_facts(USER))
    assert "payment_methods.certificate_2765295: source: certificate, amount: 250" in told
    assert "payment_methods.gift_card_1: source: gift_card, amount: 113" in told
    assert "reservations: NO6JO3 AIXC49" in told


def test_the_values_of_a_things_part_stay_on_the_line_of_the_thing() -> None:
    """A price on a line of its own, between two flights, would belong to either."""
    flights = [
        {
            "flight_number": f"HAT{place}",
            "status": "free",
            "prices": {"economy": price, "business": price + 9},
        }
        for place, price in ((136, 152), (218, 103))
    ]
    assert [fact.text for fact in read_facts(json.dumps(flights))] == [
        "flight_number: HAT136, status: free, prices (economy: 152, business: 161)",
        "flight_number: HAT218, status: free, prices (economy: 103, business: 112)",
    ]


@settings(max_examples=30)
@given(
    st.dictionaries(
        st.integers(100, 999),
        st.dictionaries(
            st.sampled_from(["price", "seats", "gate", "fee", "colour"]), st.integers(), min_size=1
        ),
        min_size=2,
        max_size=8,
    ),
    st.integers(1, 40),
)
def test_no_fact_gives_a_thing_the_value_of_another(things: dict[int, dict[str, int]], padding: int) -> None:
    rows = [
        {"number": f"N{number}", "note": "x" * padding, "inner": inner, **inner}
        for number, inner in things.items()
    ]
    for fact in read_facts(json.dumps(rows)):
        [number] = [number for number in things if re.search(rf"number: N{number}\b", fact.text)]
        told = re.findall(r"(price|seats|gate|fee|rate): (-?\d+)", fact.text)
        assert all(things[number][key] == int(value) for key, value in told)


def test_output_that_was_cut_gives_what_is_whole_before_the_cut() -> None:
    told = "\n".join(fact.text for fact in read_facts(USER[:210] + " … [90 characters left out] … 99}}"))
    assert "certificate_2765295: source: certificate, amount: 250" in told
    assert "99" not in told


@pytest.mark.parametrize("output", ["", "done", "[]", "{}", "3", "{not json", "[1, 2]", "Error: {}"])
def test_other_output_gives_no_facts(output: str) -> None:
    assert read_facts(output) == []


@given(st.text(alphabet='{}[]",:ab1 \\', max_size=80))
def test_no_output_breaks_it(output: str) -> None:
    read_facts(output)
