# ruff: noqa: E501 - talks and drafts in several languages
"""One talk, its right notes and each kind of wrong line, in several languages: the gate tells each kind."""

import pytest

from context.conversation.transcript import LineKind, RenderedLine
from context.summary.evidence import covered_identifiers
from context.summary.gate import Covered, Draft, Fault, GateVerdict, judge_summary
from context.summary.sections import Section, section_titles
from context.tokens.text import count_text
from context.types import Role


def said(seq: int, text: str, who: str) -> RenderedLine:
    return RenderedLine(seq, LineKind.TEXT, Role(who), who, text, seq)


def called(seq: int, text: str, outcome: str) -> list[RenderedLine]:
    name = text.partition("(")[0]
    return [
        RenderedLine(seq, LineKind.CALL, Role.ASSISTANT, "assistant", text, seq, call_id=f"c{seq}"),
        RenderedLine(seq + 1, LineKind.RESULT, Role.TOOL, name, outcome, seq, call_id=f"c{seq}"),
    ]


TALKS = {
    "en": [
        said(
            1,
            "Please move the choir rehearsal to the old library, my contact is Odile Brandt. Never give her number to the press.",
            "user",
        ),
        *called(2, 'find_room(name="old library")', '{"room": "L-7", "free": "Thursday 19:00", "seats": 45}'),
        said(
            4,
            "The old library has room L-7 free on Thursday at 19:00 with 45 seats. Shall I book it?",
            "assistant",
        ),
        said(5, "Yes, but only if it costs less than 80 euros.", "user"),
    ]
    + [
        said(
            i,
            f"Chairs for group {i} stand in the corridor near the window.",
            "user" if i % 2 else "assistant",
        )
        for i in range(6, 20)
    ],
    "de": [
        said(
            1,
            "Bitte verlege die Chorprobe in die alte Bibliothek, meine Kontaktperson ist Odile Brandt. Gib ihre Nummer niemals an die Presse.",
            "user",
        ),
        *called(
            2, 'find_room(name="alte Bibliothek")', '{"room": "L-7", "free": "Donnerstag 19:00", "seats": 45}'
        ),
        said(
            4,
            "Die alte Bibliothek hat Raum L-7 am Donnerstag um 19:00 frei, mit 45 Plätzen. Soll ich ihn buchen?",
            "assistant",
        ),
        said(5, "Ja, aber nur wenn er weniger als 80 Euro kostet.", "user"),
    ]
    + [
        said(i, f"Die Stühle der Gruppe {i} stehen im Flur am Fenster.", "user" if i % 2 else "assistant")
        for i in range(6, 20)
    ],
    "es": [
        said(
            1,
            "Por favor mueve el ensayo del coro a la biblioteca vieja, mi contacto es Odile Brandt. Nunca des su número a la prensa.",
            "user",
        ),
        *called(
            2, 'find_room(name="biblioteca vieja")', '{"room": "L-7", "free": "jueves 19:00", "seats": 45}'
        ),
        said(
            4,
            "La biblioteca vieja tiene la sala L-7 libre el jueves a las 19:00 con 45 asientos. ¿La reservo?",
            "assistant",
        ),
        said(5, "Sí, pero solo si cuesta menos de 80 euros.", "user"),
    ]
    + [
        said(
            i,
            f"Las sillas del grupo {i} están en el pasillo cerca de la ventana.",
            "user" if i % 2 else "assistant",
        )
        for i in range(6, 20)
    ],
}
GOOD = {
    "en": "{O}\n- the choir rehearsal is to be moved to the old library; the contact is Odile Brandt [1]\n\n{C}\n- never give the number of Odile Brandt to the press [1]\n- book only below 80 euros [5]\n\n{D}\n- find_room was called: room L-7 is free on Thursday at 19:00, 45 seats [2-3]\n\n{P}\n- whether room L-7 costs less than 80 euros [5]\n- chairs stand in the corridor near the window [6]",
    "de": "{O}\n- die Chorprobe soll in die alte Bibliothek verlegt werden; Kontakt ist Odile Brandt [1]\n\n{C}\n- die Nummer von Odile Brandt niemals an die Presse geben [1]\n- nur unter 80 Euro buchen [5]\n\n{D}\n- find_room wurde aufgerufen: Raum L-7 ist am Donnerstag um 19:00 frei, 45 Plätze [2-3]\n\n{P}\n- ob Raum L-7 weniger als 80 Euro kostet [5]\n- Stühle stehen im Flur am Fenster [6]",
    "es": "{O}\n- el ensayo del coro debe pasar a la biblioteca vieja; el contacto es Odile Brandt [1]\n\n{C}\n- nunca dar el número de Odile Brandt a la prensa [1]\n- reservar solo por menos de 80 euros [5]\n\n{D}\n- se llamó a find_room: la sala L-7 está libre el jueves a las 19:00, 45 asientos [2-3]\n\n{P}\n- si la sala L-7 cuesta menos de 80 euros [5]\n- las sillas están en el pasillo cerca de la ventana [6]",
}
BAD = {
    "en": {
        "claim": "- the room L-7 was booked and the confirmation was sent to Odile Brandt [5]",
        "name": "- the caretaker Bertil Holmqvist has the key [4]",
        "figure": "- the room costs 65 euros [4]",
        "person": "- I booked the room for you.",
        "answer": "- Would you like me to book it now?",
        "call": '- [Assistant tool call]: book_room(room="L-7")',
        "url": "- details: https://www.example.com/rooms",
        "sign": "- give the number of Odile Brandt to the press [1]",
        "other": "- the museum lends twelve paintings to the castle of the northern duke [9]",
    },
    "de": {
        "claim": "- Raum L-7 wurde gebucht und die Bestätigung an Odile Brandt verschickt [5]",
        "name": "- der Hausmeister Bertil Holmqvist hat den Schlüssel [4]",
        "figure": "- der Raum kostet 65 Euro [4]",
        "person": "- Ich habe den Raum gebucht.",
        "answer": "- Soll ich noch etwas für Sie tun?",
        "call": '- book_room(room="L-7")',
        "url": "- Details: https://www.example.com/raum",
        "sign": "- die Nummer von Odile Brandt an die Presse geben [1]",
    },
    "es": {
        "claim": "- la sala L-7 fue reservada y la confirmación enviada a Odile Brandt [5]",
        "name": "- el conserje Bertil Holmqvist tiene la llave [4]",
        "figure": "- la sala cuesta 65 euros [4]",
        "person": "- He reservado la sala para usted.",
        "answer": "- ¿Quiere que la reserve ahora?",
        "call": '- book_room(room="L-7")',
        "url": "- detalles: https://www.example.com/sala",
        "sign": "- dar el número de Odile Brandt a la prensa [1]",
    },
}
FAULTS = {
    "claim": {Fault.CLAIMS_WITHOUT_EVIDENCE},
    "person": {Fault.FIRST_PERSON},
    "answer": {Fault.ANSWER_TEXT},
    "call": {Fault.TOOL_CALL_TEXT, Fault.MADE_UP},
    "sign": {Fault.RULES_LOST, Fault.MADE_UP},
}
LANGUAGES = sorted(TALKS)


def right_notes(language: str) -> str:
    titles = section_titles(language)
    return GOOD[language].format(
        **{
            letter: f"## {titles[section]}"
            for letter, section in (
                ("O", Section.OBJECTIVE),
                ("C", Section.CONSTRAINTS),
                ("D", Section.DONE),
                ("P", Section.OPEN),
            )
        }
    )


def judge(language: str, notes: str) -> GateVerdict:
    covered = Covered(TALKS[language], 1_200, None, language)
    return judge_summary(Draft(notes, count_text(notes), "stop"), covered)


@pytest.mark.parametrize("language", LANGUAGES)
def test_right_notes_pass(language: str) -> None:
    assert judge(language, right_notes(language)).reason is None


@pytest.mark.parametrize(
    ("language", "kind"), [(language, kind) for language in LANGUAGES for kind in sorted(BAD[language])]
)
def test_one_wrong_line_is_refused_for_its_kind(language: str, kind: str) -> None:
    wrong, notes = BAD[language][kind], right_notes(language)
    heading = f"## {section_titles(language)[Section.DONE]}"
    if kind == "sign":
        rule = [line for line in notes.split("\n") if "Odile Brandt" in line][1]
        notes = notes.replace(rule, wrong)
    else:
        notes = notes.replace(heading, f"{heading}\n{wrong}")
    assert judge(language, notes).reason in FAULTS.get(kind, {Fault.MADE_UP})


@pytest.mark.parametrize("language", LANGUAGES)
def test_right_words_without_headings_are_no_notes(language: str) -> None:
    points = [line[2:] for line in right_notes(language).split("\n") if line.startswith("- ")]
    assert judge(language, " ".join(points)).reason is Fault.NO_HEADINGS


@pytest.mark.parametrize("language", LANGUAGES)
def test_a_short_point_said_again_and_again_counts_once(language: str) -> None:
    notes = right_notes(language) + "\n" + "- ok\n" * 80
    verdict = judge(language, notes)
    assert verdict.reason is None
    assert verdict.text.count("- ok") == 1


@pytest.mark.parametrize("language", LANGUAGES)
def test_the_names_of_tools_are_not_asked_for(language: str) -> None:
    names = covered_identifiers(TALKS[language], limit=24)
    assert "L-7" in names
    assert "find_room" not in names
