# ruff: noqa: E501 - tables; the words are written in their languages' own letters
"""Word lists for questions: words without a subject, and words with an effect on the meaning."""

from functools import cache

from context.languages import STOP_WORDS, all_words, by_language

_LAST_LATIN = "\u024f"


def _words(text: str) -> frozenset[str]:
    return frozenset(text.split())


LITTLE = _words(
    "a an the and but of in on at for with as about is are was were be been being am do does did doing have has had "
    "having this that these those there here what which please kindly so just also then very too such ca wo sha uh um yeah okay ok hmm"
)
"""English function words, never the subject of a question; other languages use the stop word table."""

WHICH = all_words(lambda one: one.which_words)
"""Question words of other languages, equivalent to "which"."""

GENERAL = _words(
    "summarize summarise summarized summarised summary overview gist tldr tl dr abstract recap it its i me us you give show "
    "tell write make need want can could would brief briefly short whole document text all some any everything"
)
"""Words of a general question: without other words except little ones, the question asks for everything."""

ASKING = _words(
    "summarize summarise summary discuss discussed discussing discussion think thought thinking say said saying tell told talk "
    "talked talking opinion opinions conclude concluded conclusion decision decide decided recommend recommended explain "
    "explained describe described description elaborate mention mentioned show list give find get know want need group team "
    "meeting members people how why when where who whom whose it its i me my we us our you your he him his she her they them "
    "their will would can could should must may might shall or if whether story throughout while during happen happens happened "
    "view views main key detail details overview information info question answer"
)
"""Asking words, with little information about the subject."""

OWNERS = _words("my our your his her their")
"""Possessive words: different possessives make different questions."""

NEGATIONS = all_words(lambda one: one.negations)
"""Negating words."""

SOFT = _words("from to into by than von zu zum zur vers par por para da из от к від من إلى")
"""Direction words: a question without such a word is near to the same question with the word."""

TURNING = (
    NEGATIONS
    | SOFT
    | _words(
        "before after until till since over under above below more less most least fewer against versus vs between only outside "
        "inside behind beyond off out up down vor nach bis seit über unter mehr weniger gegen nur avant après depuis plus moins "
        "sous contre antes después desde hasta más menos bajo entre depois até mais prima dopo più meno voor boven przed po önce "
        "sonra fazla före efter før до после больше меньше над под между перед قبل بعد فوق تحت أكثر أقل"
    )
)
"""Words with an effect on the next word: with such a word the question is a different question."""

EVERY = all_words(lambda one: one.every_words)
"""Words meaning "all"."""

SOME = all_words(lambda one: one.some_words)
"""Words meaning "some"."""

PAST = _words("was were did had been has have")
"""English words of past tense; in other languages the same letters are other words."""

PLACELESS = _words(
    "summarize summarise summarized summarised summary summaries overview gist recap tldr detail details info information how "
    "why when where"
)
"""Words with the same meaning in any position; for all other words the order counts."""

PARTICLES = frozenset("のはがをにでともやへかられるたてすまのねよ的了吗呢吧着是在은는이가을를의에도")
"""Characters of little words in scripts without blanks: a pair with such a character has less weight."""

NEGATING_SIGNS = frozenset("不沒没無无未非否")
"""Negating characters, in scripts without blanks."""

NEGATING_PARTS = ("ない", "なかった", "ません", "ずに", "なく", "않", "없", "아니", "ไม่")
"""Negating parts with several characters, in scripts without blanks."""

ENDINGS = {code: tuple(endings.split()) for code, endings in by_language(lambda one: one.endings).items()}
"""Endings of number and case. Endings with a new meaning stay: the result would be a different question."""


@cache
def languages_of() -> dict[str, tuple[str, ...]]:
    """Map each little word to its languages."""
    table: dict[str, tuple[str, ...]] = {}
    for code, words in STOP_WORDS.items():
        for word in words:
            table[word] = (*table.get(word, ()), code)
    return table


@cache
def little_words(language: str) -> frozenset[str]:
    """List a language's little words, never the subject of a question.

    Args:
        language: A code of the table of stop words; "en" also for an unknown language.

    Returns:
        Words in lower case: the language's own, and little words of every non-Latin script.
    """
    others = frozenset(word for word in languages_of() if word[0] > _LAST_LATIN)
    own = LITTLE if language == "en" else STOP_WORDS[language] | WHICH
    return (
        (own | others | frozenset(word for word in WHICH if word[0] > _LAST_LATIN)) - TURNING - EVERY - SOME
    )
