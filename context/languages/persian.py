# ruff: noqa: E501, RUF001 - tables in the letters of the language
"""Words of Persian."""

from context.languages import Language

LANGUAGE = Language(
    code="fa",
    name="Persian",
    script="arabic",
    stop_words="در و به از که این را با است برای آن یک تا بر می شود شده هم کرد باید یا اما اگر های ها نیست بود من ما شما",
    telling_letters="پچژگ",
    section_titles=None,
    unproven=None,
    refusals=None,
    input_requests=None,
    negations="نه نیست",
    which_words=None,
    every_words=None,
    some_words=None,
    actions=None,
    endings=None,
    mail=None,
    markers=None,
    signs=None,
)
