# ruff: noqa: E501 - tables in the letters of the language
"""Words of Lithuanian."""

from context.languages import Language

LANGUAGE = Language(
    code="lt",
    name="Lithuanian",
    script="latin",
    stop_words=(
        "ir yra kad į iš tai kaip bet ar jis ji jie mes jūs aš buvo būti nuo prie dėl jei tik jau kas kur kada kodėl reikia gali prašau mūsų "
        "jų šis ši tas taip apie iki"
    ),
    telling_letters="ėįų",
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
