# ruff: noqa: E501 - tables in the letters of the language
"""Words of Swahili."""

from context.languages import Language

LANGUAGE = Language(
    code="sw",
    name="Swahili",
    script="latin",
    stop_words=(
        "wa kwa katika cha kuwa hii huo hiyo kama lakini hapana ndiyo yake wake yetu wetu yangu wangu tunaweza tafadhali baada kabla sana pia "
        "bado ambayo ambao kila nini wapi kwamba hakuna kuna sisi mimi wewe yeye vya"
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
