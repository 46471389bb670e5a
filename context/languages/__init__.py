"""Words of languages: one module a language, and every list of words a field.

A module that is added here is read by language detection, preflight, focus, summaries and recall.
"""

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from importlib import import_module
from pkgutil import iter_modules
from typing import TypeVar

_Found = TypeVar("_Found")


@dataclass(frozen=True)
class Language:
    """Words of a language; None for a list that the language lacks. Words of a list stand apart by blanks.

    Attributes:
        code: ISO 639-1 code.
        name: Name in English.
        script: Name of the script, as in `context.text.language`.
        stop_words: The most common little words, case-folded, to tell languages of one script apart.
        telling_letters: Letters hardly used by other languages of the script.
        section_titles: Titles of a summary's sections in order, apart by bars.
        unproven: Mark behind a claim of finished work without a proof.
        refusals: First words of a model's refusal, case-folded, with straight apostrophes, apart by bars.
        input_requests: Phrases of a reply that did not see its input, case-folded, apart by bars.
        negations: Negating words.
        which_words: Question words equivalent to "which".
        every_words: Words meaning "all".
        some_words: Words meaning "some".
        actions: First words of a request for an action, apart by bars; in scripts without blanks any part.
        endings: Endings of number and case; the longest first. Endings with another meaning are not listed.
        mail: Names of a mail's headers (`from`, `sent`, `subject`), verbs of the line above a quoted mail
            (`wrote`) and titles of a mail passed on (`forwarded`), case-folded, apart by bars.
        markers: Words that mark the kind of a sentence, case-folded, as parts of patterns apart by bars:
            `rule`, `strong` for a rule without reserve, `wish`, `decision`, `open`, `done`, `ended` for what
            was lifted, `unsure` for a condition or a wish about it, `failed`, `worked`, `tried`, `agrees`,
            `refuses`, `decides` for deciding in any tense, `joint` for words that begin a clause, `filler`
            for a whole word that fills a question without naming its subject, `frame` for words between a
            thing and its value, `changed` for a change of a value, `moved` for a thing that got another time,
            `moved_to` for the words before that time, `deadline` for a thing with one date, `announced` for
            words before a rule and a colon, `called_rule` for a sentence that calls another a rule, `instead`
            for what to do in place of the forbidden, `urgent` for words before a warning and a colon, `ban`
            for a ban without an order's verb, at the head of a clause, `anew` for what begins now for good,
            `order` for verbs of requests, `smalltalk` for questions out of courtesy. For rules in other
            languages than English: `duty`,
            `always`, `weak`, `limit`, `address` and `story`.
        signs: Signs of a message's subject. In a sign `_` joins the words of a phrase, `*` stands for any
            ending; `=` behind an entry written without blanks means that nothing may stand around the entry.
    """

    code: str
    name: str
    script: str
    stop_words: str | None
    telling_letters: str | None
    section_titles: str | None
    unproven: str | None
    refusals: str | None
    input_requests: str | None
    negations: str | None
    which_words: str | None
    every_words: str | None
    some_words: str | None
    actions: str | None
    endings: str | None
    mail: Mapping[str, str] | None
    markers: Mapping[str, str] | None
    signs: Mapping[str, str] | None


LANGUAGES: Mapping[str, Language] = {
    language.code: language
    for language in (import_module(f"{__name__}.{module.name}").LANGUAGE for module in iter_modules(__path__))
}


def by_language(read: Callable[[Language], _Found | None]) -> dict[str, _Found]:
    """Read a field of each language that has it, by the language's code."""
    found = {code: read(language) for code, language in LANGUAGES.items()}
    return {code: value for code, value in found.items() if value is not None}


def all_words(read: Callable[[Language], str | None]) -> frozenset[str]:
    """Join a list of words of all languages."""
    return frozenset(word for words in by_language(read).values() for word in words.split())


def all_phrases(read: Callable[[Language], str | None]) -> tuple[str, ...]:
    """Join a list of phrases of all languages."""
    return tuple(phrase for phrases in by_language(read).values() for phrase in phrases.split("|"))


STOP_WORDS: Mapping[str, frozenset[str]] = {
    code: frozenset(words.split()) for code, words in by_language(lambda one: one.stop_words).items()
}
"""The most common little words of each language with such a list."""
