# ruff: noqa: E501 - tables in the letters of the language
"""Words of Danish."""

from context.languages import Language

LANGUAGE = Language(
    code="da",
    name="Danish",
    script="latin",
    stop_words=(
        "og at det i en er som på for med den til af ikke jeg har de et om men var sig fra vi så kan når han hun eller skal skulle også meget "
        "alle efter uden bare nu her findes bliver hvordan hvad dette denne disse du min din ud"
    ),
    telling_letters="ø",
    section_titles=None,
    unproven=None,
    refusals=None,
    input_requests=None,
    negations="ikke aldri ikkje uden",
    which_words="hvilke hvilken",
    every_words="hver",
    some_words="noen nogle",
    actions=None,
    endings="erne ene en et er e",
    mail={
        "from": "fra",
        "sent": "sendt",
        "subject": "emne",
        "wrote": "skrev",
        "forwarded": "videresendt meddelelse|oprindelig meddelelse",
    },
    markers={
        "strong": "aldrig",
    },
    signs=None,
)
