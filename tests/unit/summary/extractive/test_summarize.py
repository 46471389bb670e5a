# ruff: noqa: E501, RUF001 - conversations in several scripts
"""The built-in model: what it keeps, in which shape, and how fast."""

import json
from collections.abc import Sequence
from dataclasses import replace
from datetime import date

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from benchmarks.extractive_summaries import Tally, read_conversations, roll, to_messages
from context.conversation.transcript import LineKind, RenderedLine, participants, render_transcript
from context.summary.extractive.summarize import Summarizer, summarize
from context.summary.gate import Covered, Draft, judge_summary
from context.summary.prompt import SummaryInput
from context.summary.sections import Section, SummaryDocument, section_titles
from context.text.language import main_language
from context.tokens.text import count_text
from context.types import JsonObject, Message, Role
from tests.data import data_dir
from tests.unit.linear.growth import grows_in_proportion


def said(seq: int, text: str, who: str = "Ana (user)") -> RenderedLine:
    role = Role.USER if who.endswith("user)") or who == "user" else Role.ASSISTANT
    return RenderedLine(seq, LineKind.TEXT, role, who, text, seq)


def called(seq: int, text: str, outcome: str | None, *, failed: bool = False) -> list[RenderedLine]:
    name = text.partition("(")[0]
    lines = [RenderedLine(seq, LineKind.CALL, Role.ASSISTANT, "assistant", text, seq, call_id=f"c{seq}")]
    if outcome is not None:
        lines.append(RenderedLine(seq + 1, LineKind.RESULT, Role.TOOL, name, outcome, seq, failed, f"c{seq}"))
    return lines


CHAT = (
    said(1, "I want an importer for the invoices in /srv/billing/2024. It must never delete a source file."),
    said(2, "Understood. Which format do the invoices have?", "assistant"),
    said(3, "CSV. Let's go with pandas because we know it.", "Ben (user)"),
    *called(4, 'read(path="/srv/billing/2024/a.csv")', "id,amount\nINV-2041,99.90"),
    *called(6, 'write(path="/srv/importer.py", content="…")', "Error: disk full", failed=True),
    said(8, "The disk is full. Should I clean /tmp first?", "assistant"),
)
FILLER = tuple(
    said(seq, f"Some more words about the weather and the garden, part {seq}.") for seq in range(20, 60)
)


def ask(
    lines: Sequence[RenderedLine], budget: int = 400, previous: str | None = None, *, aggressive: bool = False
) -> str:
    return summarize(SummaryInput(tuple(lines), budget, "en", previous, participants(lines), aggressive))


def points(summary: str, section: Section) -> str:
    return "\n".join(SummaryDocument(summary).sections.get(section, []))


def test_the_first_line_says_what_it_is() -> None:
    assert ask((*CHAT, *FILLER)).startswith("Extractive notes")


def test_a_rule_is_kept_word_for_word_with_who_said_it() -> None:
    assert "[1] Ana (user): It must never delete a source file." in points(
        ask((*CHAT, *FILLER)), Section.CONSTRAINTS
    )


@pytest.mark.parametrize(
    "rule",
    [
        "Please don't email me there, that mailbox is full. Text me instead at 555-0148.",
        "Bitte ruf mich nie im Büro an. Schreib mir stattdessen an 555-0148.",
        "No me llames nunca a la oficina. Escríbeme en su lugar al 555-0148.",
        "Ne m'appelle jamais au bureau. Écris-moi à la place au 555-0148.",
        "Никогда не звони мне в офис. Пиши вместо этого на 555-0148.",
        "No slug pellets in the garden, there are hedgehogs. That is a rule.",
    ],
)
def test_a_rule_keeps_what_to_do_instead(rule: str) -> None:
    kept = points(ask((*CHAT, said(10, f"{rule} The weather is fine today."), *FILLER)), Section.CONSTRAINTS)
    assert any(point.startswith(f"[10] Ana (user): {rule}") for point in kept.split("\n"))


def test_a_decision_is_credited_to_the_right_person() -> None:
    assert "[3] Ben (user): CSV. Let's go with pandas" in points(ask((*CHAT, *FILLER)), Section.DECISIONS)


def test_an_unanswered_question_is_open() -> None:
    earlier = [replace(line, seq=line.seq - 100) for line in FILLER]
    summary = ask((*earlier, *CHAT))
    assert "Should I clean /tmp first?" in points(summary, Section.OPEN)
    assert "Which format" not in points(summary, Section.OPEN)


def test_a_call_is_kept_with_its_arguments_its_outcome_and_its_evidence() -> None:
    summary = ask((*CHAT, *FILLER), budget=600)
    assert 'read(path="/srv/billing/2024/a.csv") -> ok: id,amount INV-2041,99.90 [4-5]' in points(
        summary, Section.DONE
    )


def test_a_failed_call_is_open_and_not_done() -> None:
    summary = ask((*CHAT, *FILLER), budget=600)
    assert "-> error: Error: disk full [6-7]" in points(summary, Section.OPEN)
    assert "disk full" not in points(summary, Section.DONE)


def test_a_failure_that_was_overcome_is_open_no_more() -> None:
    lines = (*CHAT, *called(9, 'write(path="/srv/importer.py", content="x")', "written"), *FILLER)
    assert "write(" not in points(ask(lines, budget=600), Section.OPEN)


def test_a_failure_before_a_success_of_the_same_subject_is_told() -> None:
    failed = called(9, 'book(place="sauna", day="Thu")', "Error: closed on Thursdays", failed=True)
    lines = (*CHAT, *failed, *called(11, 'book(place="sauna", day="Fri")', "booked"), *FILLER)
    assert 'book(place="sauna", day="Fri") x2 -> error -> ok: booked' in points(
        ask(lines, budget=600), Section.DONE
    )


def test_a_deed_and_the_fields_of_its_outcome_share_a_line() -> None:
    told = '{"ok": true, "ticket": "TK-6613", "total_dkk": 840}'
    failed = called(9, 'book(id="EV-9", pax=2)', "Error: closed", failed=True)
    lines = (*called(7, 'book(id="EV-8", pax=2)', told), *failed, *called(11, 'book(id="EV-9", pax=3)', told))
    done = points(ask((*CHAT, *lines, *FILLER), budget=600), Section.DONE)
    assert 'book(id="EV-8", pax=2) -> ok' in done
    assert 'book(id="EV-9", pax=3) x2 -> error -> ok; ok: true, ticket: TK-6613' in done
    assert done.count("EV-9") == done.count("EV-8") == 1


def test_two_changes_of_one_file_are_two_deeds() -> None:
    edits = (
        'edit(path="retry.py", old="a = 1", new="a = 2")',
        'edit(path="retry.py", old="b = 3", new="b = 4")',
    )
    lines = [line for at, edit in enumerate(edits) for line in called(70 + 2 * at, edit, "ok: 1 replacement")]
    done = points(ask((*CHAT, *lines, *FILLER), budget=700), Section.DONE)
    assert all(f"{edit} -> ok: ok: 1 replacement" in done for edit in edits)


def test_a_failure_of_the_last_summary_is_settled_by_a_later_success() -> None:
    first = ask((*CHAT, *FILLER), budget=600)
    later = (*called(70, 'write(path="/srv/importer.py")', "written"), *FILLER)
    assert "disk full" not in points(ask(later, 600, previous=first), Section.OPEN)


def test_names_are_listed_letter_by_letter() -> None:
    assert "/srv/billing/2024" in ask((*CHAT, *FILLER))


def test_rules_and_names_outlive_ten_summaries_of_other_things() -> None:
    summary = ask((*CHAT, *FILLER))
    for round_ in range(10):
        lines = [replace(line, seq=100 + 50 * round_ + place) for place, line in enumerate(FILLER)]
        lines.append(said(149 + 50 * round_, f"Now look at report-{round_}.pdf, please."))
        summary = ask(lines, previous=summary)
    assert "It must never delete a source file." in points(summary, Section.CONSTRAINTS)
    assert "/srv/billing/2024" in summary


def test_a_prose_summary_of_another_model_is_carried_on() -> None:
    previous = "Ana needs the importer by 2024-06-01. Ben owns the review of PR-17."
    assert "Ben owns the review of PR-17." in ask(FILLER, previous=previous)


def test_a_pasted_number_in_brackets_is_no_evidence() -> None:
    lines = (*called(4, 'run(cmd="x")', "line [9999] reached"), *FILLER)
    summary = ask(lines, budget=600)
    assert "[9999]" not in summary
    assert "(9999)" in summary


GROUP = (
    said(1, "Which port does the new gateway listen on?"),
    said(2, "The new gateway listens on port 8443.", "Bob (user)"),
    said(3, "It must have been a long day for you, Bob."),
    *(said(n, f"Note {n}: the {w} was moved to shelf {n} today.", "Bob (user)") for n, w in
      enumerate(("lamp", "chair", "table", "clock", "radio", "carpet", "mirror", "ladder") * 9, 4)),
)  # fmt: skip


def test_a_question_is_settled_by_any_other_speaker_and_stands_beside_its_answer() -> None:
    summary = ask(GROUP, budget=900)
    assert (
        "[1] Ana (user): Which port does the new gateway listen on? "
        "-> [2] Bob (user): The new gateway listens on port 8443." in summary
    )
    assert Section.OPEN not in SummaryDocument(summary).sections


def test_a_guess_is_no_constraint() -> None:
    assert Section.CONSTRAINTS not in SummaryDocument(ask(GROUP, budget=900)).sections


def test_the_last_question_of_a_group_is_open() -> None:
    assert "Who has the key?" in points(ask((*GROUP, said(99, "Who has the key?"))), Section.OPEN)


def test_a_carried_question_is_settled_by_another_person() -> None:
    previous = "## Open work\n- [9] Ana (user): Who has the key of the depot?"
    assert "Who has the key" not in points(
        ask((said(20, "I do.", "Bob (user)"), *FILLER), previous=previous), Section.OPEN
    )
    own = [replace(line, speaker="Ana (user)") for line in FILLER]
    assert "Who has the key" in points(ask(own, previous=previous), Section.OPEN)


def test_a_value_that_changed_shows_its_newest_and_the_one_before() -> None:
    lines = (
        said(1, "My mortgage was pre-approved for $350,000 by the bank."),
        *FILLER,
        said(90, "My mortgage was pre-approved for $400,000 by the bank."),
    )
    summary = ask(lines, budget=500)
    assert "($350,000 [1] -> $400,000 [90])" in summary
    assert "[1] Ana (user): My mortgage" not in summary


def test_the_same_words_about_two_things_are_no_change() -> None:
    lines = (said(1, "The flight HAT023 costs $364 a seat."), said(2, "The flight HAT134 costs $580 a seat."))
    assert "->" not in ask((*lines, *FILLER), budget=900)


def test_lines_of_several_days_say_which_day_and_pass_the_gate() -> None:
    days = (date(2023, 5, 8), date(2023, 6, 1))
    messages = [
        Message(
            n,
            Role.USER,
            30,
            json.dumps(
                {"role": "user", "content": f"I moved lamp {n} to shelf {n} yesterday, near the door."}
            ),
            speaker="Ana" if n % 2 else "Bo",
            day=days[n > 10],
        )
        for n in range(1, 21)
    ]
    lines = render_transcript(messages)
    assert str(lines[0]).startswith("[1 · 8 May 2023] Ana (user): ")
    assert str(lines[1]).startswith("[2] Bo (user): ")
    assert str(lines[10]).startswith("[11 · 1 Jun 2023] Ana (user): ")
    text = ask(lines, budget=300)
    assert "[20 · 1 Jun 2023] Bo (user): I moved lamp 20" in text
    verdict = judge_summary(Draft(text, count_text(text), "stop"), Covered(lines, 900, language="en"))
    assert verdict.reason is None
    assert "[20 · 1 Jun 2023] Bo (user): I moved lamp 20" in verdict.text


def test_every_stretch_of_a_talk_is_spoken_for_and_the_budget_is_used() -> None:
    topics = ("harbour", "library", "bakery", "airport", "theatre", "museum")
    lines = [
        said(20 * place + n, f"The {topic} has {topic} matter {topic}-{n} to settle with its {topic} staff.")
        for place, topic in enumerate(topics)
        for n in range(1, 20)
    ]
    summary = ask(lines, budget=600)
    assert all(topic in summary for topic in topics)
    assert count_text(summary) >= 0.9 * 600


CONVERSATIONS = {
    "de": (
        "Bitte verschiebe die Rechnung INV-2041 nach /srv/billing. Du darfst sie auf keinen Fall löschen.",
        "Ist das für alle Rechnungen so, oder nur für diese?",
    ),
    "fr": (
        "Déplace la facture INV-2041 vers /srv/billing, s'il te plaît. Il ne faut jamais la supprimer.",
        "Est-ce que c'est pour toutes les factures ou pour celle-ci ?",
    ),
    "es": (
        "Por favor mueve la factura INV-2041 a /srv/billing. Nunca la borres.",
        "¿Es para todas las facturas o solo para esta?",
    ),
    "ru": (
        "Перенеси счёт INV-2041 в /srv/billing. Никогда не удаляй его.",
        "Это для всех счетов или только для этого?",
    ),
    "zh": ("请把发票 INV-2041 移到 /srv/billing。绝不要删除它。", "是所有发票都这样，还是只有这一张？"),
    "ja": (
        "請求書 INV-2041 を /srv/billing に移してください。絶対に削除しないでください。",
        "すべての請求書についてですか。",
    ),
    "ko": (
        "청구서 INV-2041 을 /srv/billing 으로 옮겨 주세요. 절대 삭제하지 마세요.",
        "모든 청구서에 해당하나요?",
    ),
    "ar": ("من فضلك انقل الفاتورة INV-2041 إلى /srv/billing. لا تحذفها أبدا.", "هل هذا لكل الفواتير؟"),
    "he": ("העבר בבקשה את החשבונית INV-2041 אל /srv/billing. אסור למחוק אותה.", "האם זה לכל החשבוניות?"),
    "hi": ("कृपया चालान INV-2041 को /srv/billing में ले जाएँ। इसे कभी न हटाएँ।", "क्या यह सभी चालानों के लिए है?"),
}


@pytest.mark.parametrize("language", CONVERSATIONS)
def test_a_conversation_in_any_language_passes_the_gate_with_its_own_titles(language: str) -> None:
    order, question = CONVERSATIONS[language]
    lines = tuple(
        line
        for start in range(1, 40, 4)
        for line in (
            said(start, order),
            *called(start + 1, f'look(page={start}, path="/srv/{start}.csv")', "fine"),
            said(start + 3, question, "assistant"),
        )
    )
    assert main_language(line.text for line in lines if line.role is Role.USER) == language
    text = summarize(SummaryInput(lines, 500, language), count=count_text)
    assert f"## {section_titles(language)[Section.CONSTRAINTS]}" in text
    covered = Covered(lines, sum(count_text(str(line)) for line in lines), language=language)
    assert judge_summary(Draft(text, count_text(text), "stop"), covered).reason is None


LINES = st.lists(
    st.tuples(st.text(max_size=120), st.sampled_from(["Ana (user)", "user", "assistant"]), st.booleans()),
    max_size=25,
)


@settings(max_examples=60)
@given(LINES, st.integers(0, 400), st.none() | st.text(max_size=400), st.booleans())
def test_it_never_exceeds_its_budget_and_always_says_the_same(
    words: list[tuple[str, str, bool]], budget: int, previous: str | None, aggressive: bool
) -> None:
    lines = tuple(
        line
        for seq, (text, who, calls) in enumerate(words, start=1)
        for line in (called(seq, f"run({text})", text) if calls else [said(seq, text, who)])
    )
    request = SummaryInput(lines, budget, "en", previous, aggressive=aggressive)
    summary = summarize(request)
    assert summary == summarize(request)
    assert count_text(summary) <= budget


def test_little_to_say_in_little_room_is_not_larger_than_what_it_covers() -> None:
    summary = ask(CHAT, 10_000)
    assert count_text(summary) < sum(count_text(line.text) for line in CHAT)


def test_less_space_is_used_when_it_is_asked_for() -> None:
    lines = (*CHAT, *FILLER)
    assert len(ask(lines, 400, aggressive=True)) < len(ask(lines, 400))


@pytest.mark.data
def test_a_recorded_session_is_summarized_in_time_with_its_messages() -> None:
    data_dir("pi_sessions")
    messages = to_messages(next(read_conversations("pi_sessions")))

    def summary(text: str) -> object:
        lines = render_transcript(messages[: len(text) // 50])
        return summarize(SummaryInput(lines, 2000, "en"), count=count_text)

    assert len(messages) > 320
    assert grows_in_proportion(summary, "x".__mul__)


@pytest.mark.data
@pytest.mark.parametrize(
    ("name", "least", "budget", "how_many"),
    [("pi_sessions", 6000, 1500, 1), ("tau_airline", 300, 700, 20), ("livemcp", 1000, 1000, 20)],
)
def test_recorded_conversations_roll_through_the_gate(
    name: str, least: int, budget: int, how_many: int
) -> None:
    data_dir(name)
    tally = Tally()
    for _, bodies in zip(range(how_many), read_conversations(name), strict=False):
        roll(to_messages(bodies), least, budget, tally)
    accepted = sum(verdict.accepted for verdict in tally.verdicts)
    assert accepted >= 0.95 * len(tally.verdicts)
    assert tally.over_budget == 0


def test_the_things_that_somebody_named_come_before_the_rest_of_a_list() -> None:
    flights = [
        {"number": f"HAT{place}", "leaves": f"{place % 24:02}:15", "gate": f"B{place}"}
        for place in range(110, 120)
    ]
    talk = (
        said(1, "Which trains and flights go to Seattle on Monday evening from here?"),
        *called(2, 'search(to="Seattle")', json.dumps(flights)),
        said(4, "There are ten. Shall I book HAT117 for you?", "assistant"),
        said(5, "Yes, the one that you named is fine with me and with Ana, thank you."),
    )
    told = ask(talk, 110)
    assert "HAT117, 21:15, B117" in told
    assert "HAT118" not in told


def test_the_ids_of_a_record_are_told_though_nobody_spoke_of_them() -> None:
    record = {
        "name": {"first": "Mia", "last": "Li"},
        "payment_methods": {
            "certificate_2765295": {"source": "certificate", "amount": 250},
            "gift_card_1122334": {"source": "gift_card", "amount": 113},
        },
        "note": "x" * 50,
    }
    talk = (
        said(1, "I want to book a flight from New York to Seattle for next Monday, please."),
        *called(2, 'get_user(user_id="mia_1")', json.dumps(record)),
        *FILLER[:10],
    )
    told = ask(talk, 200)
    assert (
        "payment_methods.certificate_2765295: source: certificate, amount: 250; "
        "gift_card_1122334: gift_card, 113"
    ) in told
    assert told.count("get_user(") == 1


def test_things_with_the_same_keys_are_told_by_their_values_behind_the_first() -> None:
    legs = [{"from": a, "to": b, "price": price} for a, b, price in (("ZRH", "OSL", 91), ("OSL", "BGO", 47))]
    record = {"legs": legs, "guests": [{"first": "Mia", "born": "1990-04-05"}], "fee": 12}
    talk = (
        said(1, "I want to see what I have booked for next Monday, please."),
        *called(2, 'get_booking(id="AB12CD")', json.dumps(record)),
        *FILLER[:10],
    )
    assert "legs: from: ZRH, to: OSL, price: 91; OSL, BGO, 47" in ask(talk, 300)


def bookings(*records: JsonObject) -> list[RenderedLine]:
    """One call of a tool for each record, one after the other."""
    ids = ("AB12CD", "EF34GH", "IJ56KL")
    called_ = [
        line
        for place, (one, record) in enumerate(zip(ids, records, strict=False))
        for line in called(2 + 2 * place, f'get_booking(id="{one}")', json.dumps(record))
    ]
    return [said(1, "I want to see what I have booked for next Monday, please."), *called_, *FILLER[:10]]


def test_calls_of_a_tool_share_a_line_and_its_keys() -> None:
    paid = [{"paid": {"card": f"card_{n}731", "amount": 90 + n, "day": "2024-05-13"}} for n in range(3)]
    guests = [{**one, "guests": [{"first": "Mia", "born": f"199{n}-04-05"}]} for n, one in enumerate(paid)]
    told = ask(bookings(*guests), 400)
    assert (
        '("EF34GH") -> paid: card: card_1731, amount: 91, day: 2024-05-13; guests: Mia, 1991-04-05 [4-5]; '
        '("IJ56KL") -> paid: card_2731, 92, 2024-05-13; guests: Mia, 1992-04-05 [6-7]'
    ) in told
    assert told.count("get_booking(") == 1


@pytest.mark.parametrize("sign", ["no", "yes", "non", True, False])
def test_a_yes_or_no_keeps_its_key_in_a_row(sign: object) -> None:
    told = ask(bookings(*({"guest": f"mia_{n}", "from": "ZRH", "insured": sign} for n in range(3))), 400)
    shown = str(sign).lower() if isinstance(sign, bool) else sign
    assert f'("EF34GH") -> mia_1, ZRH, insured: {shown}' in told


def test_a_thing_keeps_its_keys_behind_one_with_other_keys_at_the_same_place() -> None:
    cards = {"gift_1": {"source": "gift", "amount": 113}, "visa_1": {"source": "visa", "last_four": "6710"}}
    more = {"gift_2": {"source": "gift", "amount": 250}, "visa_2": {"source": "visa", "last_four": "4021"}}
    told = ask(bookings({"pays": cards}, {"pays": more}), 400)
    assert (
        '("EF34GH") -> pays.gift_2: source: gift, amount: 250; pays.visa_2: source: visa, last_four: 4021'
        in told
    )


@pytest.mark.parametrize("other", ['get_booking("AB12CD")', 'get_booking(id="EF34GH", day=3)', "find(id=3)"])
def test_a_call_of_another_shape_has_a_line_of_its_own(other: str) -> None:
    record = json.dumps({"paid": {"card": "card_1731", "amount": 91}, "guests": 3})
    second = json.dumps({"paid": {"card": "card_2731", "amount": 92}, "guests": 4})
    talk = [*called(2, 'get_booking(id="AB12CD")', record), *called(4, other, second), *FILLER[:10]]
    told = ask([said(1, "I want to see what I have booked for Monday, please."), *talk], 400)
    assert f"- {other} -> " in told


def test_notes_for_a_question_tell_the_data_that_it_names() -> None:
    seats = [{"seat": f"{n}C", "card": f"card_{n}7{n}1", "price": 90 + n} for n in range(1, 10)]
    lines = (
        said(1, "Which seats are there for me?"),
        *called(2, "list_seats(day=3)", json.dumps(seats)),
        said(4, "There are nine of them, and all are free.", "assistant"),
        *FILLER[:4],
    )
    for n in (3, 6, 9):
        request = SummaryInput(lines, 110, "en")
        assert f"card_{n}7{n}1" in Summarizer(request, asked=f"I take card_{n}7{n}1, please.").write(110)


def test_things_with_other_keys_or_values_with_commas_keep_their_keys() -> None:
    record = {
        "shops": [
            {"name": "Rill", "city": "Bergen, Norway"},
            {"name": "Tarn", "city": "Oslo, Norway"},
            {"name": "Fell", "phone": "555-0199"},
        ]
    }
    talk = (
        said(1, "Which shops are there for us in the north, please?"),
        *called(2, 'get_shops(region="north")', json.dumps(record)),
        *FILLER[:10],
    )
    told = ask(talk, 300)
    assert "name: Tarn, city: Oslo, Norway" in told
    assert "name: Fell, phone: 555-0199" in told


def test_data_that_a_later_output_repeats_is_told_once() -> None:
    record = json.dumps({"guests": [{"first": "Mia", "born": "1990-04-05"}], "paid": "card_7731"})
    talk = (
        said(1, "I want to cancel what I have booked for next Monday, please."),
        *called(2, 'get_booking(id="AB12CD")', record),
        *called(4, 'cancel_booking(id="AB12CD")', record),
        *FILLER[:10],
    )
    told = ask(talk, 300)
    assert told.count("born: 1990-04-05") == 1
    assert "cancel_booking" in told


def test_notes_that_are_not_kept_name_nothing_twice_and_do_not_say_what_they_are() -> None:
    talk = (
        said(1, "Please look after my order WB-20931 for the oak boards of the staircase."),
        said(2, "I shall watch the order WB-20931 and tell you as soon as it moves.", "assistant"),
        *FILLER[:10],
    )
    asked = SummaryInput(talk, 300, "en")
    kept, brief = Summarizer(asked).write(300), Summarizer(asked, asked="").write(300)
    assert kept.startswith("Extractive notes")
    assert "Extractive notes" not in brief
    assert "WB-20931" in brief
    assert "`WB-20931`" not in brief


def test_a_thought_written_down_as_a_call_is_no_work_done() -> None:
    talk = (*CHAT, *called(9, 'think(thought="The disk of INV-2041 is full")', "(nothing)"))
    assert "think(" not in ask(talk, 1_000)


TRACES = {
    "en": "The nightly job of the harbour office crashed again, please find out why.",
    "de": "Der Nachtlauf des Hafenamts ist wieder abgestürzt, bitte finde heraus warum.",
    "ru": "Ночная задача портовой конторы снова упала, выясни, пожалуйста, почему.",
    "zh": "港口办公室的夜间任务又崩溃了，请查明原因。",
}


@pytest.mark.parametrize("language", sorted(TRACES))
@pytest.mark.parametrize(
    "trace",
    [
        'Traceback (most recent call last):\n  File "/srv/a.py", line 31, in run\n    job.start(x)\nRuntimeError: you must never start a job twice',
        "java.lang.IllegalStateException: you must never start a job twice\n\tat com.a.Job.run(Job.java:31)\n\t... 4 more",
        "2024-05-03 10:00:01 ERROR you must never start a job twice",
        "panic: you must never start a job twice\n\ngoroutine 1 [running]:\nmain.run(0x1)\n\t/srv/a.go:31",
    ],
)
def test_a_pasted_trace_is_nobodys_words(language: str, trace: str) -> None:
    words = TRACES[language]
    summary = summarize(SummaryInput((said(1, f"{words}\n{trace}", "user"), *FILLER), 500, language))
    assert words in summary
    assert "never start a job" not in summary
    assert Section.CONSTRAINTS not in SummaryDocument(summary).sections


def test_plain_output_of_tools_fills_the_room_that_nothing_else_needs() -> None:
    rows = [f"- berth {n} of the northern harbour holds a cutter of {3 * n} metres" for n in range(1, 61)]
    talk = (
        said(1, "Which boats are in the harbour of Lindau at the moment?", "user"),
        *called(2, 'list_berths(harbour="Lindau")', "Berths:\n" + "\n".join(rows)),
        said(4, "There are sixty cutters in the harbour.", "assistant"),
    )
    summary = ask(talk, 700)
    assert "There are sixty cutters in the harbour." in summary
    assert "berth 7 of the northern harbour holds a cutter of 21 metres" in summary
    assert 0.9 * 700 <= count_text(summary) <= 700
    verdict = judge_summary(Draft(summary, count_text(summary), "stop"), Covered(talk, 1_500, language="en"))
    assert verdict.reason is None


QUESTIONS = {
    "de": ("Wann kommt der Klempner in die Wohnung?", "Der Klempner kommt am Donnerstag um neun."),
    "es": ("¿Dónde dejaste las llaves del granero?", "Las llaves del granero están en la cocina."),
    "fr": ("Combien coûte la location de la salle ?", "La location de la salle coûte 300 euros."),
    "ru": ("Кто заберёт ключи от сарая?", "Ключи от сарая заберёт Марина."),
    "zh": ("谁去拿仓库的钥匙？", "小李周二去拿仓库的钥匙。"),
}


@pytest.mark.parametrize("language", sorted(QUESTIONS))
@pytest.mark.parametrize(
    "speakers", [("Ana (user)", "Bo (user)", "Cy (user)"), ("user", "assistant", "assistant")]
)
def test_a_question_and_what_came_of_it_stand_on_one_line(
    language: str, speakers: tuple[str, str, str]
) -> None:
    question, answer = QUESTIONS[language]
    lines = (
        said(1, question, speakers[0]),
        said(2, "The queue at the bakery was long again.", speakers[2]),
        said(3, answer, speakers[1]),
        *FILLER,
    )
    summary = summarize(SummaryInput(lines, 600, language))
    assert f"{question} -> [3] {speakers[1]}: {answer}" in summary
    assert question not in points(summary, Section.OPEN)
