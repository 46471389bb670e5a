# ruff: noqa: E501 - tables in the letters of the language
"""Words of Latvian."""

from context.languages import Language

LANGUAGE = Language(
    code="lv",
    name="Latvian",
    script="latin",
    stop_words=(
        "ir ka nav ar uz kā bet vai tas tā ko pie pēc lai jau vēl tikai ja kad kur kāpēc viņš viņa mēs jūs viņi bija būt vajag lūdzu mūsu šis "
        "šī tiek līdz pirms"
    ),
    telling_letters="ļņģķ",
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
