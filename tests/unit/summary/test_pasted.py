# ruff: noqa: E501, RUF001 - texts in several scripts
"""Words of users among pasted code, logs and texts: the language asked for, and nobody's rules."""

import pytest

from context.conversation.transcript import LineKind, RenderedLine
from context.summary.others_words import drop_code, users_language
from context.summary.user_rules import find_rules
from context.types import Role

CODE = "def main():\n    for item in the_list:\n        print('the value is', item)\n    return None\n"
PROSE = "The report says that the server was down for an hour and it is not clear why this happened. " * 20
LOG = "2024-01-01 10:00:00 ERROR the server is not responding and the client was closed\n" * 20


def said(seq: int, text: str, role: Role = Role.USER) -> RenderedLine:
    return RenderedLine(seq, LineKind.TEXT, role, str(role), text, seq)


@pytest.mark.parametrize(
    ("language", "texts"),
    [
        (
            "ru",
            [f"Привет, проверь этот код, пожалуйста:\n```\n{CODE}```", "почему так?", f"вот ещё:\n{CODE}"],
        ),
        ("uk", [f"{LOG}\nщо це таке?", "і чому?"]),
        ("de", [f"Schau dir bitte das an:\n{PROSE}", "Und warum geht das nicht?", f"Mach es kürzer.\n{LOG}"]),
        ("zh", [f"帮我看看：\n{PROSE}", "为什么？", f"改一下这个：\n{CODE}"]),
        ("es", [f"Traduce esto al español por favor:\n\n{PROSE}", "¿Y ahora?", "Hazlo más corto, gracias."]),
        ("ja", [f"{CODE}\nこれは何ですか", "なぜ？"]),
        ("pl", [f"Popraw proszę ten kod:\n{CODE}", f"A teraz dodaj testy.\n{CODE}"]),
        ("fr", [f"corrige ça\n{CODE}", "ça marche pas", f"et maintenant ?\n{LOG}"]),
        ("ko", [f"이 코드 좀 고쳐 줘\n{CODE}{PROSE}"]),
        ("it", [f"Riassumi questo testo:\n{PROSE}", "Grazie, e adesso scrivi una mail al cliente."]),
        (
            "en",
            [
                "Please translate this:\nDie Anlage ist heute nicht in Betrieb, und wir wissen nicht warum.\nThanks!"
            ],
        ),
    ],
)
def test_the_language_is_that_of_the_users_own_words(language: str, texts: list[str]) -> None:
    """The assistant answers in English, and pasted text is longer than the users' words."""
    lines = [
        line
        for seq, text in enumerate(texts)
        for line in (said(2 * seq, text), said(2 * seq + 1, PROSE[:300], Role.ASSISTANT))
    ]
    assert users_language(lines) == language


def test_the_language_of_others_counts_where_users_say_nothing() -> None:
    assert users_language([said(1, "ok 👍"), said(2, PROSE, Role.ASSISTANT)]) == "en"
    assert users_language([said(1, "42")]) == "und"


@pytest.mark.parametrize(
    "pasted",
    [
        'Traceback (most recent call last):\n  File "a.py", line 3, in run\n    raise ValueError(hint)\n    You must never call this twice.\nValueError: must never be None',
        "Exception in thread main java.lang.IllegalStateException: x\n\tat com.a.B.run(B.java:3)\n\tnever call close twice, always call open\nCaused by: java.io.IOException: never retry this",
        "panic: never reuse a closed channel\n\ngoroutine 1 [running]:\nmain.run(0x1)\n\tyou must never reuse it",
        "May  3 10:00:01 web-1 nginx: you must never open this port",
        "#0 /srv/a.php(12): run()\n  always call init first",
        "```\nnever delete the lock file\n```",
        "~~~ts\n// always run migrations first\n~~~",
        "2024-05-03 10:00:01 WARN pool: connections must never be shared\n  always close every connection",
    ],
)
@pytest.mark.parametrize(
    "words", ["Why does it fail?", "Warum schlägt das fehl?", "为什么失败？", "Почему ошибка?"]
)
def test_pasted_text_states_no_rule_and_is_nobodys_words(pasted: str, words: str) -> None:
    text = f"{words}\n{pasted}"
    assert find_rules([said(1, text)]) == []
    assert drop_code(text).strip() == words


def test_a_list_below_code_stays() -> None:
    assert drop_code("x = {'a': [1, 2], 'b': (3,)};\n  - never delete it\n  1. ask first\n\nDone.").split(
        "\n"
    ) == [
        "  - never delete it",
        "  1. ask first",
        "",
        "Done.",
    ]
