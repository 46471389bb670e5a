# ruff: noqa: E501, RUF001 - tables in the letters of the language
"""Words of Bulgarian."""

from context.languages import Language

LANGUAGE = Language(
    code="bg",
    name="Bulgarian",
    script="cyrillic",
    stop_words=(
        "и в не на че с по как това но към от за се да е са съм беше ще ако или още вече този тази тези който която които може трябва също "
        "много без след моля мен ни ви те тя той ние"
    ),
    telling_letters=None,
    section_titles=None,
    unproven=None,
    refusals=None,
    input_requests=None,
    negations="няма",
    which_words=None,
    every_words=None,
    some_words=None,
    actions=None,
    endings=None,
    mail=None,
    markers=None,
    signs=None,
)
