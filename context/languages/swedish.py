# ruff: noqa: E501 - tables in the letters of the language
"""Words of Swedish."""

from context.languages import Language

LANGUAGE = Language(
    code="sv",
    name="Swedish",
    script="latin",
    stop_words=(
        "och att det i en är som på för med den till av inte jag har de ett om men var sig från vi så kan när han hon eller ska skulle också "
        "mycket alla efter utan bara nu här finns blir hur vad detta denna dessa du ni min din"
    ),
    telling_letters=None,
    section_titles=None,
    unproven=None,
    refusals=None,
    input_requests=None,
    negations="inte aldrig utan",
    which_words="vilken vilka",
    every_words="alla varje",
    some_words="några",
    actions=None,
    endings="arna orna erna en et ar or er n a e",
    mail={
        "from": "från",
        "sent": "skickat",
        "subject": "ämne",
        "wrote": "skrev",
        "forwarded": "vidarebefordrat meddelande|ursprungligt meddelande",
    },
    markers={
        "strong": "alltid|aldrig|får inte|utan mitt",
        "limit": "högst",
    },
    signs=None,
)
