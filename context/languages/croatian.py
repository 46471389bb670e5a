# ruff: noqa: E501 - tables in the letters of the language
"""Words of Croatian."""

from context.languages import Language

LANGUAGE = Language(
    code="hr",
    name="Croatian",
    script="latin",
    stop_words=(
        "što kao ili ali iz ako bi sam smo ste nije biti bio bila bilo već samo kako kada gdje zašto ovo taj ova ovaj može možemo treba moram "
        "imamo nema još prije nakon molim vas njih joj nam"
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
