# ruff: noqa: E501 - tables in the letters of the language
"""Words of Albanian."""

from context.languages import Language

LANGUAGE = Language(
    code="sq",
    name="Albanian",
    script="latin",
    stop_words="dhe të në një për që nuk është më nga ka kjo ky ose kur ku pse jam janë ishte duhet mund ju unë ajo ata vetëm tani lutem tonë ime",
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
