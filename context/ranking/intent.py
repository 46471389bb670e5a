"""Read an intent for ranking: its parts, spelling and words, without words of little information."""

# ruff: noqa: RUF001 - tables of words in several scripts

import re
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from functools import cache
from itertools import islice

from context.ranking.index import RankingIndex
from context.text.cut import split_sentences
from context.text.terms import content_terms, index_terms

ASKING_WEIGHT = 0.5
"""Weight of an asking word, relative to a word of substance."""
TALK_WEIGHT = 0.4
"""Weight of a word of talk outside of tool names."""

_WORDS = """
able about access accurate accurately actually advance advice affordable afterwards ahead aim along already
alright also although always amazing among another anyone anything anyway appreciate appropriate around ask
asking assist assistance assistant await aware away based become before begin believe below beyond bit bored
bring brilliant broad busy came care case cause certain certainly chance clear clearly close come
comfortable completely comprehensive concerned consider considering contain contains convenient couple
craving curious cute dear decide deep definitely depend desperate difficult done easily easy effective
effectively efficient efficiently eager either else end enjoy enough ensure entire especially essential etc
even ever every everyone everything exact exactly excellent exciting excited expect experience extra
extremely eye fantastic fascinated fast feel feeling finally fine free frustrated furthermore further give
given giving glad go goal going gonna good got grateful great guidance happen happy hard has heard heart
hello help helpful helping hey hi high highly hit honest hope hoping imagine immediately important
impressive incredible indeed inform informed inspire instead intend intention interest interested
interesting involve involved join kindly know knowledge known lack later least leave less let like likely
limited longer look looking love lovely major making manner many matter maybe mean meanwhile meet mentioned
mine miss moment moreover most move must myself near necessary need needed needs never nice nothing notice
numerous obviously often okay old one ones opportunity ordinary otherwise ourselves overall particular
particularly past perfect perhaps piece possible possibly potential prefer preferably present pretty
previously probably proper properly purpose put quickly quite rather reach ready real realize really receive
regarding regards regular remain remember require required respective respectively response ruin see seem
seems seen sense serious several shall significant simple simply since somehow someone something sometimes
somewhere soon sorry specifically specified stay still struggle struggling stuck stuff such suitable suppose
sure taken tend thank thanks thing things think thinking though thought through thus tired together took
toward towards tried truly trying turn understanding unique unless upset urgent urgently useful usual
usually value variety various via wait wanna wanted wants ways welcome whatever whether while whole wide
willing wish within without wonder wonderful wondering works worried worry would wrong yes yesterday yet
"""

_TALK_WORDS = """
add additional additionally all allow allows answer available back basic benefit best better big change
common complete create design designed detail details develop different discuss enhance explore far feature
features few first focus follow following full future handle home idea ideas improve include included
includes including increase individual information insight insights last latest level life live long lot
main make manage mention morning multiple new newest obtain offer open option options order people person
personal plan planning platform point popular previous provide provided quality range recent recently
recommend recommendation recommendations regard relevant request result return right save share show similar
single skill skills special specific start step stop suggest suggestion suggestions support talk tip today
tomorrow tonight tool top topic total type understand upcoming update use used user users using utilize
valuable view way week weekend work
"""
_TOOL_WORDS = """
action add api call content create data date default execute file find function get info information input
item list make message name names number output provide query question request response result retrieve
return run search service set system text time tool tools type update use user using value
"""


@cache
def asking_terms() -> frozenset[str]:
    """Return the terms of asking words."""
    return frozenset(index_terms(_WORDS))


@cache
def talk_terms() -> frozenset[str]:
    """Return the terms of words with little information outside of tool names."""
    return frozenset(index_terms(_TALK_WORDS)) - asking_terms()


@cache
def tool_terms() -> frozenset[str]:
    """Return the terms of words common to many tools."""
    return frozenset(index_terms(_TOOL_WORDS))


MAX_CHARS = 4_000
"""Most characters read of a request, from both ends: the middle of a long request is mostly pasted text."""
MAX_TERMS = 64


@dataclass(frozen=True)
class Intent:
    """The terms of a request.

    Attributes:
        text: The read part of the request.
        terms: Weight of each term, in (0, 1], in the order of first use.
    """

    text: str
    terms: Mapping[str, float]


def read_intent(text: str) -> Intent:
    """Read the terms of a request.

    Args:
        text: The request, of any length, in any language.

    Returns:
        At most `MAX_TERMS` terms, asking sentences first; empty without letters and digits.
    """
    half = MAX_CHARS // 2
    read = text if len(text) <= MAX_CHARS else f"{text[:half]}\n{text[-half:]}"
    asking = asking_terms()
    terms: dict[str, float] = {}
    for part, worth in split_request(read):
        for term in content_terms(part, limit=MAX_TERMS):
            if len(terms) < MAX_TERMS:
                terms.setdefault(term, worth * ASKING_WEIGHT if term in asking else worth)
    return Intent(read, terms)


MIN_CHARS = 5
"""Shorter words have too many neighbours."""
MAX_WORDS = 4
NEAR_WEIGHT = 0.6
"""Weight of a corrected word."""


def correct_intent(index: RankingIndex, intent: Intent) -> Intent:
    """Replace an intent's terms by similar terms, if neither the catalog nor the lexicon knows any.

    Args:
        index: The catalog's index.
        intent: The parsed intent.

    Returns:
        The intent itself, or an intent of known terms at a distance of a single letter, or with an own term
        as their beginning.
    """
    if any(term in index.postings or term in index.lexicon for term in intent.terms):
        return intent
    found = {
        known: NEAR_WEIGHT * intent.terms[term]
        for term in islice(filter(_can_be_misspelled, intent.terms), MAX_WORDS)
        for known in find_near(term, (*index.postings, *index.lexicon))
    }
    return Intent(intent.text, found) if found else intent


def find_near(term: str, vocabulary: Iterable[str]) -> Iterator[str]:
    """Find words at a distance of a single letter, or with the word as their beginning.

    Args:
        term: A word of at least `MIN_CHARS`.
        vocabulary: The known words.

    Returns:
        Words with the same first letter and a single letter added, missing, changed or swapped with its
        neighbour; and longer words beginning with the term.
    """
    size = len(term)
    for known in vocabulary:
        near = known[0] == term[0] and len(known) >= MIN_CHARS and abs(len(known) - size) <= 1
        if (near and is_one_edit(term, known)) or known.startswith(term):
            yield known


def is_one_edit(one: str, other: str) -> bool:
    """Tell whether two words differ by a single letter added, missing, changed or swapped."""
    if len(one) > len(other):
        one, other = other, one
    start = next((at for at, letter in enumerate(one) if letter != other[at]), len(one))
    rest, other_rest = one[start:], other[start:]
    if len(one) < len(other):
        return len(other) - len(one) == 1 and rest == other_rest[1:]
    swapped = rest[:2] == other_rest[1::-1] and rest[2:] == other_rest[2:]
    return one != other and (swapped or rest[1:] == other_rest[1:])


def _can_be_misspelled(term: str) -> bool:
    return len(term) >= MIN_CHARS and term.isalpha()


LONG_CHARS = 800
"""Longest short request in characters; in a short request every sentence counts as asking."""
PASTED_WEIGHT = 0.25
"""Weight of words in a sentence without a request."""

_ASKS = re.compile(
    r"""
    [?？؟]\W{0,4}$
    | \b(?:please|(?:can|could|would|will)\ you|i\ (?:want|need)|i(?:'?d|\ would)\ like|help\ me|let'?s)\b
    | ^\W*(?:(?:and|then|also|first|next|finally|now)\W+){0,2}
      (?:add|analy[sz]e|book|build|buy|calculate|call|check|compare|convert|copy|create|delete|deploy|describe
      |download|draft|draw|edit|email|explain|export|extract|fetch|find|fix|generate|get|give|go|help|illustrate|import|install
      |list|look|make|move|open|order|paint|pay|plan|play|post|prepare|publish|put|read|recommend|record|remember
      |remind|remove|render|rename|research|reserve|review|rewrite|run|save|schedule|search|send|set|show|start|stop
      |store|suggest|summari[sz]e|take|tell|test|track|translate|turn|update|upload|use|write)\b
    | 请|請|帮我|幫我|ください|下さい|お願い|주세요|해줘|пожалуйста|нужно|хочу|من\ فضلك|أريد
    | \b(?:por\ favor|quiero|necesito|bitte|ich\ möchte|s'il\ (?:te|vous)\ plaît|je\ veux
      |per\ favore|vorrei|preciso|quero)\b
    """,
    re.IGNORECASE | re.VERBOSE,
)


def split_request(text: str) -> list[tuple[str, float]]:
    """Split a request into asking parts and pasted parts.

    Args:
        text: A request.

    Returns:
        The parts with weights in (0, 1], highest first; a short request is a single part. Without any asking
        sentence, the first and the last count as asking.
    """
    if len(text) <= LONG_CHARS:
        return [(text, 1.0)]
    sentences = split_sentences(text)
    asking = [_ASKS.search(sentence) is not None for sentence in sentences]
    if not any(asking):
        asking = [at in {0, len(sentences) - 1} for at in range(len(sentences))]
    parts = {
        weight: "\n".join(sentence for sentence, asks in zip(sentences, asking, strict=True) if asks is kind)
        for kind, weight in ((True, 1.0), (False, PASTED_WEIGHT))
    }
    return [(part, weight) for weight, part in parts.items() if part]
