# ruff: noqa: E501 - tables in the letters of the language
"""Words of Finnish."""

from context.languages import Language

LANGUAGE = Language(
    code="fi",
    name="Finnish",
    script="latin",
    stop_words=(
        "ja ei että hän ovat oli olla mutta kun niin kuin myös mitä tämä nämä joka jotka voi ole minä sinä minun mikä miten missä vain nyt "
        "sitten jos tai vielä kanssa jo pitää pitäisi onko tässä sitä meidän olen olemme ennen jälkeen"
    ),
    telling_letters=None,
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
        "from": "lähettäjä",
        "sent": "lähetetty",
        "subject": "aihe",
        "wrote": "kirjoitti",
        "forwarded": "välitetty viesti|alkuperäinen viesti",
    },
    markers={
        "strong": "älä|koskaan|ilman lupaani",
        "limit": "enintään",
    },
    signs=None,
)
