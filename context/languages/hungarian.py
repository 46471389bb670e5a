# ruff: noqa: E501 - tables in the letters of the language
"""Words of Hungarian."""

from context.languages import Language

LANGUAGE = Language(
    code="hu",
    name="Hungarian",
    script="latin",
    stop_words=(
        "az és hogy nem egy ez volt meg már csak mint vagy azt ezt kell lehet még majd nincs minden után előtt hogyan miért hol itt ott "
        "vagyok vannak lesz legyen kérem szerint alatt között nekem nekünk kellene azért"
    ),
    telling_letters="őű",
    section_titles=None,
    unproven=None,
    refusals=None,
    input_requests=None,
    negations=None,
    which_words=None,
    every_words=None,
    some_words=None,
    actions=None,
    endings=None,
    mail={
        "from": "feladó",
        "sent": "elküldve|küldve",
        "subject": "tárgy",
        "wrote": "írta|ezt írta",
        "forwarded": "továbbított üzenet|eredeti üzenet",
    },
    markers={
        "strong": "soha|tilos",
    },
    signs=None,
)
