# ruff: noqa: E501 - tables in the letters of the language
"""Words of Tagalog."""

from context.languages import Language

LANGUAGE = Language(
    code="tl",
    name="Tagalog",
    script="latin",
    stop_words=(
        "ang ng mga ay ko mo niya namin natin ito iyon hindi may mayroon kung kasi ba nang lang rin ako ikaw siya tayo sila ano saan kailan "
        "bakit paano dapat pwede wala na't"
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
