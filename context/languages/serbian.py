# ruff: noqa: E501, RUF001 - tables in the letters of the language
"""Words of Serbian."""

from context.languages import Language

LANGUAGE = Language(
    code="sr",
    name="Serbian",
    script="cyrillic",
    stop_words=(
        "и у не на да је се са за што као али од до то су био била било ће ако или још већ овај ова ово који која које може треба такође "
        "веома без после нам вас ми ви они"
    ),
    telling_letters="ђћџјљњ",
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
