# ruff: noqa: E501 - tables in the letters of the language
"""Words of Czech."""

from context.languages import Language

LANGUAGE = Language(
    code="cs",
    name="Czech",
    script="latin",
    stop_words=(
        "a se v na je že to s z do o jako ale by jsem jsou bylo byl byla být pro po za od už jen také tak který která které když nebo ještě "
        "však podle při není jeho jejich tento tato toto prosím může musí"
    ),
    telling_letters="řůěť",
    section_titles=None,
    unproven=None,
    refusals=None,
    input_requests=None,
    negations=None,
    which_words="která",
    every_words=None,
    some_words=None,
    actions=None,
    endings=None,
    mail={
        "from": "od",
        "sent": "odesláno",
        "subject": "předmět",
        "wrote": "napsal|napsala|napsal(a)|píše",
        "forwarded": "přeposlaná zpráva|původní zpráva",
    },
    markers={
        "strong": r"nikdy|nesmí\w*|bez mého",
    },
    signs=None,
)
