# ruff: noqa: E501 - tables in the letters of the language
"""Words of Romanian."""

from context.languages import Language

LANGUAGE = Language(
    code="ro",
    name="Romanian",
    script="latin",
    stop_words=(
        "și în de la un o nu este că cu pe din pentru care mai ca sau dar sunt fi fost a au prin această acest aceste după când foarte dacă "
        "fără trebuie poate am ai avem vă rog cum unde"
    ),
    telling_letters="țș",
    section_titles=None,
    unproven=None,
    refusals=None,
    input_requests=None,
    negations="nu fără",
    which_words=None,
    every_words=None,
    some_words=None,
    actions=None,
    endings=None,
    mail={
        "from": "de la|expeditor",
        "sent": "trimis",
        "subject": "subiect",
        "wrote": "a scris",
        "forwarded": "mesaj redirecționat|mesaj original",
    },
    markers={
        "strong": "niciodată|fără acordul",
    },
    signs=None,
)
