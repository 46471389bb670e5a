"""Answers of a talk: in a crowd only words of the same conversation answer a question."""

# ruff: noqa: E501, RUF001 - talks in several scripts

from collections.abc import Sequence

import pytest
from hypothesis import given
from hypothesis import strategies as st

from benchmarks.answers import measure
from context.conversation.transcript import render_transcript
from context.summary.extractive.talk import Talk
from tests.data import DATA
from tests.unit.histories import make_message, number

CROWD = [
    ("Tux33", "can i use photoshop cs4 with wine?"),
    ("skylarS", "kern, if you have enough mem you can vmware your windows partition"),
    ("LeonSquall", "since the driver only supports windows"),
    ("kern", "sKylarS hmm how much mem do i need?"),
    ("LeonSquall", "wsgordon: the mem of the printer"),
    ("wsgordon", "Tux33: cs2 works, cs4 does not start"),
    ("skylarS", "kern: two gigabytes are plenty"),
]


def talk_of(said: Sequence[tuple[str, str]]) -> Talk:
    bodies = [{"role": "user", "content": text, "name": name} for name, text in said]
    return Talk.of(render_transcript(number(map(make_message, bodies))))


def answer_to(said: Sequence[tuple[str, str]], place: int) -> str | None:
    talk = talk_of(said)
    found = talk.answer(talk.spoken[place], said[place][1])
    return f"{found.label} {found.text}" if found else None


def test_words_to_somebody_else_answer_no_question() -> None:
    assert answer_to(CROWD, 0) == "[6] wsgordon (user): Tux33: cs2 works, cs4 does not start"


def test_the_one_who_was_asked_answers() -> None:
    assert answer_to(CROWD, 3) == "[7] skylarS (user): kern: two gigabytes are plenty"


def test_each_question_of_a_message_goes_to_the_one_it_names() -> None:
    said = [
        ("Ines", "Wanjiru, what is your shoe size for the boots? Tobias, does the projector work?"),
        ("Callum", "Elif, the bus is late."),
        ("Tobias", "Ines, the projector does not work, the size of the lamp is wrong."),
        ("Wanjiru", "Ines, size 39."),
    ]
    talk = talk_of(said)
    found = [talk.answer(talk.spoken[0], one) for one in talk.spoken[0].statements]
    assert [one.label if one else None for one in found] == ["[4] Wanjiru (user):", "[3] Tobias (user):"]


def test_a_question_that_nobody_answers_has_no_answer() -> None:
    said = [*CROWD, ("pb11", "anybody know a good scanner?"), ("kern", "skylarS: thanks, I will try that")]
    assert answer_to(said, 7) is None


@pytest.mark.parametrize(
    ("asked", "aside", "answer"),
    [
        ("Wann kommt der Kran am Montag?", "Marta, der Zaun steht.", "Jan: der Kran kommt um sieben."),
        ("¿Cuándo llega la grúa el lunes?", "Marta, la valla está lista.", "Jan, la grúa llega a las siete."),
        ("Когда приедет кран в понедельник?", "Marta: забор стоит.", "Jan, кран приедет в семь."),
        ("起重机星期一几点到？", "Marta，围栏好了。", "Jan，起重机七点到。"),
        ("When does the crane come on Monday?", "@Marta the fence stands.", "at seven, Jan"),
    ],
)
def test_names_are_read_in_many_languages(asked: str, aside: str, answer: str) -> None:
    said = [
        ("Marta", "Ivo, hello there."),
        ("Jan", asked),
        ("Ivo", aside),
        ("Marta", "Ivo, thank you."),
        ("Ivo", answer),
    ]
    found = answer_to(said, 1)
    assert found is not None
    assert found.startswith("[5] Ivo")


def test_two_people_answer_each_other_without_names() -> None:
    said = [("Ana", "When does the ferry leave?"), ("Ben", "At noon, from pier four.")]
    assert answer_to(said, 0) == "[2] Ben (user): At noon, from pier four."


def test_people_of_a_meeting_who_name_nobody_answer_each_other() -> None:
    said = [
        ("Ana", "What does the remote cost?"),
        ("Ben", "Twelve euros and a half."),
        ("Cem", "We agreed on titanium."),
        ("Ana", "Titanium is fine."),
    ]
    assert answer_to(said, 0) == "[2] Ben (user): Twelve euros and a half."


def test_a_word_that_is_a_name_too_addresses_nobody_without_a_mark() -> None:
    said = [
        ("Will", "Ana, the boat is at the pier."),
        ("Ana", "Where is the anchor of the boat?"),
        ("Ivo", "Will the anchor hold the boat? The anchor of the boat is in the shed."),
        ("Will", "ok"),
    ]
    talk = talk_of(said)
    found = talk.answer(talk.spoken[1], said[1][1])
    assert talk.is_crowd
    assert found is not None
    assert found.label == "[3] Ivo (user):"


NAMES = ("ana", "Ben7", "c|m", "Dora")
words = st.sampled_from(("the crane comes at seven", "when does the crane come?", "yes", "no crane", "ok?"))
heads = st.sampled_from(("", *(f"{name}: " for name in NAMES), *(f"{name} " for name in NAMES)))


@given(st.lists(st.tuples(st.sampled_from(NAMES), heads, words), min_size=2, max_size=20))
def test_no_answer_is_the_askers_or_for_somebody_else(said: list[tuple[str, str, str]]) -> None:
    talk = talk_of([(name, head + text) for name, head, text in said])
    for spoken in talk.spoken:
        found = talk.answer(spoken, spoken.line.text)
        if found is None:
            continue
        place = int(found.label[1 : found.label.index("]")]) - 1
        asker, (name, head, _) = said[spoken.place][0], said[place]
        assert place > spoken.place
        assert name != asker
        if head.endswith(": ") and head[:-2] != name and head[:-2] in {one for one, *_ in said}:
            assert head[:-2] == asker


@pytest.mark.skipif(not (DATA / "irc_ubuntu").is_dir(), reason=f"no irc_ubuntu under {DATA}")
def test_answers_in_crossing_conversations_are_of_the_questions_own() -> None:
    tallies = measure(DATA / "irc_ubuntu/channels.jsonl.gz")
    ours, next_words = tallies["ours"], tallies["next words"]
    assert ours.questions >= 100
    assert ours.right >= 2 * next_words.right
    assert ours.right >= 0.85 * ours.answered


PAIR = [
    ("Ruth", "Who writes the notes for the concert?"),
    ("Omar", "Ingrid does, she sends them by Friday."),
    ("Ruth", "Fine. It rained all day."),
    ("Omar", "The concert notes are long, and who writes so much?"),
    ("Omar", "The notes for the concert came at last."),
]


def test_of_two_people_the_very_next_reply_answers() -> None:
    assert answer_to(PAIR, 0) == "[2] Omar (user): Ingrid does, she sends them by Friday."


def test_a_question_in_return_is_no_reply() -> None:
    said = [PAIR[0], ("Omar", "Which notes?"), ("Ruth", "Those for the concert."), PAIR[4]]
    assert answer_to(said, 0) == "[4] Omar (user): The notes for the concert came at last."


@pytest.mark.parametrize(
    "courtesy",
    [
        "How was the rest of your week?",
        "Und wie war der Rest der Woche?",
        "Comment s'est passée ta semaine ?",
        "¿Cómo estás, qué tal la semana?",
        "Как прошла неделя?",
        "你最近怎么样？",
    ],
)
def test_small_talk_stays_no_open_question(courtesy: str) -> None:
    talk = talk_of([("Ruth", courtesy)])
    assert not talk.asks_something(courtesy)


def test_a_question_of_the_matter_stays_open() -> None:
    assert talk_of(PAIR).asks_something("How was the quote of the printer worded?")


@pytest.mark.parametrize(
    ("greeting", "wish"),
    [
        ("Hi! Hope your week is going well. It has been raining since Sunday.", "I'd like you to keep track of quotes for me."),
        ("Guten Morgen! Endlich scheint bei uns wieder einmal die Sonne.", "Ich möchte, dass du die Angebote im Blick behältst."),
        ("¡Hola! Qué calor hace hoy, no se puede ni salir a la calle.", "Quiero que lleves la cuenta de los precios."),
    ],
)  # fmt: skip
def test_the_objective_is_the_wish_and_no_greeting(greeting: str, wish: str) -> None:
    bodies = [
        {"role": "user", "content": greeting},
        {"role": "assistant", "content": "Ok."},
        {"role": "user", "content": wish},
    ]
    talk = Talk.of(render_transcript(number(map(make_message, bodies))))
    assert talk.first_by_user is talk.spoken[2]


TWO = [
    # an order between, whose report shares a word with an earlier question
    (["How much is the ticket?", "22 euros.", "Book it.", "The ticket is booked for 19 September."], 0, "22 euros."),
    (["Who wrote that test?", "Ottoline Marsh, commit 4be19c07.", "Set the timeout to 5.", "All seven tests pass with timeout=5."], 0, "Ottoline Marsh, commit 4be19c07."),
    (["Wer hat den Schlüssel?", "Frau Oppermann.", "Bestell den Handwerker.", "Der Handwerker braucht den Schlüssel am Montag."], 0, "Frau Oppermann."),
    (["¿A qué hora cierra el museo?", "A las ocho.", "Compra dos entradas.", "Las dos entradas del museo son para las cinco."], 0, "A las ocho."),
    (["Où est la clé du garage ?", "Sous le pot bleu.", "Fais réparer la porte.", "La porte du garage est réparée, la clé tourne."], 0, "Sous le pot bleu."),
    (["Qual é a senha da rede?", "Tulipa-88.", "Reinicie o roteador.", "A rede voltou, a senha continua valendo."], 0, "Tulipa-88."),
    (["Кто ведёт семинар?", "Лидия Орлова.", "Перенеси семинар на пятницу.", "Семинар теперь в пятницу, его ведёт та же группа."], 0, "Лидия Орлова."),
    (["会议室在哪里？我想确认一下。", "三楼靠窗那间。", "帮我预订会议室。", "会议室已经预订到下午四点。"], 0, "三楼靠窗那间。"),
    # asked back first
    (["How much is the ticket to Bonn?", "Which day?", "Monday.", "22 euros."], 0, "22 euros."),
    (["Wann fährt der Bus nach Bonn?", "An welchem Tag?", "Am Montag.", "Um 17:30 Uhr."], 0, "Um 17:30 Uhr."),
    # put off first
    (["Is the refund for the tent approved?", "I will ask and tell you later.", "Thanks.", "The refund for the tent is approved."], 0, "The refund for the tent is approved."),
    # an assistant asks
    (["Plan the party.", "How many guests come to the party?", "Fourteen.", "Noted.", "The party has many guests with children."], 1, "Fourteen."),
]  # fmt: skip


@pytest.mark.parametrize(("said", "place", "answer"), TWO)
def test_the_next_reply_of_two_answers_a_question(said: list[str], place: int, answer: str) -> None:
    bodies = [{"role": "assistant" if at % 2 else "user", "content": text} for at, text in enumerate(said)]
    talk = Talk.of(render_transcript(number(map(make_message, bodies))))
    question = talk.spoken[place].statements[0]
    found = talk.answer(talk.spoken[place], question)
    assert found is not None
    assert found.text == answer


def test_of_the_steps_of_a_model_the_last_words_answer() -> None:
    bodies = [
        {"role": "user", "content": "When was the test for the lock written?"},
        {"role": "assistant", "content": "I look at who wrote the test for the lock."},
        {"role": "assistant", "content": "On 3 November 2025."},
        {"role": "user", "content": "Move it."},
        {"role": "assistant", "content": "The test for the lock stands elsewhere now, written anew."},
    ]
    talk = Talk.of(render_transcript(number(map(make_message, bodies))))
    found = talk.answer(talk.spoken[0], bodies[0]["content"])
    assert found is not None
    assert found.text == "On 3 November 2025."


def test_in_a_group_the_next_speaker_answers_unless_a_later_one_says_clearly_more() -> None:
    said = [
        ("Ana", "How much is the ticket?"),
        ("Ben", "22 euros."),
        ("Cleo", "Book it then."),
        ("Ben", "The ticket is booked."),
    ]
    assert answer_to(said, 0) == "[2] Ben (user): 22 euros."
    said[1] = ("Ben", "Nice hat, Cleo.")
    said[3] = ("Dov", "The ticket is 22 euros, how much luck.")
    assert answer_to(said, 0) == "[4] Dov (user): The ticket is 22 euros, how much luck."


@pytest.mark.parametrize(
    ("text", "count"),
    [
        ("Never call me at the office. Text me instead at 555-0148, please.", 1),
        ("The office is closed on Mondays. Text me instead at 555-0148, please.", 2),
        ("Der Laden am Markt hat montags zu. Stattdessen war ich dann im Park.", 2),
        ("La tienda del mercado cierra el lunes. Fui al parque en su lugar.", 2),
    ],
)
def test_only_a_rule_takes_the_alternative_behind_it(text: str, count: int) -> None:
    assert len(talk_of([("Ana", text)]).spoken[0].statements) == count
