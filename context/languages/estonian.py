# ruff: noqa: E501 - tables in the letters of the language
"""Words of Estonian."""

from context.languages import Language

LANGUAGE = Language(
    code="et",
    name="Estonian",
    script="latin",
    stop_words=(
        "ja ei see oli ka kui mis oma või aga siis nii ning selle seda mida kes kus kuidas miks ole olen oleme nad meie teie mina sina juba "
        "veel ainult enne pärast palun peab saab võib kas siin seal minu"
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
    mail=None,
    markers=None,
    signs=None,
)
