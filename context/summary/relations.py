# ruff: noqa: RUF001 - punctuation of several scripts
"""Relations inside a point: what stands with what in a clause, what is denied, and whose words they are."""

import re
from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from functools import cached_property, lru_cache
from itertools import combinations

from context.conversation.transcript import LineKind, RenderedLine
from context.languages import all_phrases
from context.summary.gist import gist
from context.summary.sections import Section
from context.summary.source import PREFIX, Doubt, ParsedPoint, support_of
from context.text.cut import split_sentences
from context.text.exact_values import normal
from context.text.marker_words import WITHOUT_BLANKS, Cue, find_cues, marks_of
from context.text.terms import index_terms, statement_terms
from context.types import Role

_JOINTS = "|".join(all_phrases(lambda one: (one.markers or {}).get("joint")))
_BREAK = re.compile(rf"[;:,](?=\s)|[，、；：]|\s(?:{_JOINTS})(?=\s)")
_NAMED = re.compile(r"[^\W\d_][^\W_]*")
_NOT = "¬"
_MOST_CLAUSES = 40
_MOST_OF_POINT = 6
_SAME, _NEAR, _FEW = 0.6, 0.8, 2
_OTHERS_SHARE, _OWN_SHARE = 0.5, 0.8
_SUBJECT_WORDS = 3

_FAILED, _WORKED, _TRIED, _DECIDES, _AGREES, _REFUSES = (
    re.compile(marks_of(kind, anywhere=WITHOUT_BLANKS))
    for kind in ("failed", "worked", "tried", "decides", "agrees", "refuses")
)


@dataclass(frozen=True)
class _Clause:
    """A clause with its words of weight, folded, and its sign."""

    plain: str
    terms: frozenset[str]
    negates: bool
    words: tuple[str, ...]

    @cached_property
    def agrees(self) -> bool | None:
        """Tell whether somebody agrees, or refuses; None where nobody does, or both do."""
        found = _AGREES.search(self.plain), _REFUSES.search(self.plain)
        if all(found) or not any(found):
            return None
        rest = self.plain.replace((found[0] or found[1])[0], " ")  # type: ignore[index]
        return (found[0] is not None) != gist(rest).negates

    @cached_property
    def things(self) -> frozenset[str]:
        """The words of weight without the agreement or refusal."""
        return self.terms.intersection(index_terms(_REFUSES.sub(" ", _AGREES.sub(" ", self.plain))))

    def denies(self, other: "_Clause") -> bool:
        """Tell whether one of two clauses says no to what the other says."""
        if self.agrees is not None and other.agrees is not None:
            return self.agrees != other.agrees
        return self.negates != other.negates

    @property
    def marks(self) -> frozenset[str]:
        """The words, and the sign of a "not"."""
        return self.terms | {_NOT} if self.negates else self.terms

    @property
    def is_attempt(self) -> bool:
        return _TRIED.search(self.plain) is not None


@lru_cache(maxsize=2_048)
def _clauses(text: str) -> tuple[_Clause, ...]:
    weighty = frozenset(statement_terms(text, limit=2_000))
    parts = (part for sentence in split_sentences(text) for part in _BREAK.split(sentence))
    return tuple(_clause(part, weighty) for part in parts if part.strip())[:_MOST_CLAUSES]


def _clause(text: str, weighty: frozenset[str]) -> _Clause:
    plain = text.casefold().replace("’", "'")
    negates = gist(text).negates or _FAILED.search(plain) is not None
    return _Clause(plain, weighty.intersection(index_terms(text)), negates, tuple(_NAMED.findall(text)))


def find_wrong_relations(said: ParsedPoint) -> set[Doubt]:
    """Find values or names that changed places, a lost or invented "not", and words of another speaker.

    Args:
        said: A point, not repeated word for word from the source.

    Returns:
        The doubts; empty where the source relates the words in the same way, or not at all, and for a point
        of many clauses: it joins rows of a list, whose borders differ from those in the source.
    """
    if said.line.section is Section.IDENTIFIERS or len(_clauses(said.plain)) > _MOST_OF_POINT:
        return set()
    lines = [line for line in support_of(said) if line.kind is LineKind.TEXT]
    doubts: set[Doubt] = set()
    if lines and (_is_mixed(_clauses(said.plain), lines) or _has_other_names(said, lines)):
        doubts.add(Doubt.SAYING)
    if lines and _is_opposite(said, lines):
        doubts.add(Doubt.OPPOSITE)
    if lines and said.line.section is Section.DONE and _was_tried(said, lines):
        doubts.add(Doubt.UNDONE)
    if said.cited and said.line.section is Section.DECISIONS and _was_left_open(said):
        doubts.add(Doubt.UNDONE)
    if said.cited and _is_of_another(said, lines):
        doubts.add(Doubt.SAYING)
    return doubts


def _is_mixed(own: Sequence[_Clause], lines: Sequence[RenderedLine]) -> bool:
    """Tell whether two clauses of a point have exchanged words between two clauses of one message."""
    for line in lines:
        theirs = _clauses(line.text)
        homes = _homes(theirs) if len(theirs) < _MOST_CLAUSES else {}
        for one, other in combinations(own, 2):
            first = {homes[term] for term in one.marks - other.marks if term in homes}
            second = {homes[term] for term in other.marks - one.marks if term in homes}
            if len(first & second) >= _FEW:
                return True
    return False


def _has_other_names(said: ParsedPoint, lines: Sequence[RenderedLine]) -> bool:
    """Tell whether a clause repeats one of the source with two names exchanged, or with another name."""
    theirs = [clause for line in lines for clause in _clauses(line.text)]
    return any(
        _exchanges_names(own, other) or _replaces_name(own, other, theirs)
        for own in _clauses(said.plain)
        for other in theirs
    ) and not any(_says_alike(own, theirs) for own in _clauses(said.plain))


def _says_alike(own: _Clause, theirs: Sequence[_Clause]) -> bool:
    return any(" ".join(own.words) in " ".join(other.words) for other in theirs)


def _exchanges_names(own: _Clause, other: _Clause) -> bool:
    """Tell whether the words of a clause stand in the order of another clause, but for two names."""
    held, mine = Counter(other.words), Counter(own.words)
    order = {word: place for place, word in enumerate(other.words) if held[word] == 1}
    if len(own.words) <= _FEW or not mine <= held:
        return False
    places = [order[word] for word in own.words if word in order]
    moved = [(a, b) for a, b in zip(places, sorted(places), strict=True) if a != b]
    return len(moved) == _FEW and all(_is_name(other.words[a]) for a, _ in moved)


def _replaces_name(own: _Clause, other: _Clause, theirs: Sequence[_Clause]) -> bool:
    """Tell whether a clause has the words of another clause but for a name, of whom nothing such is said."""
    strange = [word for word in own.words if word not in other.words]
    missing = [word for word in other.words if word not in own.words and _is_name(word)]
    if len(strange) != 1 or not missing or not _is_name(strange[0]) or len(own.words) <= _SUBJECT_WORDS:
        return False
    rest = own.terms - frozenset(index_terms(strange[0]))
    home = [clause for clause in theirs if strange[0] in clause.words]
    return bool(home) and not any(rest & clause.terms for clause in home)


def _is_name(word: str) -> bool:
    return word[:1].isupper() and not word.isupper()


def _homes(clauses: Sequence[_Clause]) -> dict[str, int]:
    """Map each word of a single clause of a message to this clause."""
    held = Counter(term for clause in clauses for term in clause.marks)
    return {term: at for at, clause in enumerate(clauses) for term in clause.marks if held[term] == 1}


def _is_opposite(said: ParsedPoint, lines: Sequence[RenderedLine]) -> bool:
    """Tell whether a clause of a point is denied by the only clauses of the source with the same words."""
    theirs = [clause for line in lines for clause in _clauses(line.text)]
    names = frozenset(term for line in lines for term in index_terms(line.speaker))
    own = (replace(clause, terms=clause.terms - names) for clause in _clauses(said.plain))
    return any(_is_denied(clause, theirs, strictly=not said.cited) for clause in own)


def _is_denied(own: _Clause, theirs: Sequence[_Clause], *, strictly: bool) -> bool:
    """Tell whether the clauses like a clause deny the clause.

    A new "not", or no citation, asks for more likeness.
    """
    worked = _WORKED.search(own.plain)
    strictly |= own.negates and own.agrees is None
    alike = [clause for clause in theirs if _is_like(own, clause, strictly=strictly)]
    if worked and not strictly:
        alike += [clause for clause in theirs if clause.negates and _is_about(own, worked[0], clause)]
    return bool(alike) and all(own.denies(clause) for clause in alike)


def _is_like(own: _Clause, other: _Clause, *, strictly: bool) -> bool:
    mine, theirs = own.terms, other.terms
    if own.agrees is not None and other.agrees is not None:
        mine, theirs = own.things, other.things
    shared, least = _shared(mine, theirs), _NEAR if strictly else _SAME
    return shared >= _FEW + strictly and shared >= least * max(len(mine), len(theirs))


def _is_about(own: _Clause, worked: str, other: _Clause) -> bool:
    """Tell whether a clause denies the success of what another clause calls a success."""
    if worked in other.plain:
        return True
    things = own.terms - frozenset(index_terms(worked))
    return bool(things) and _FAILED.search(other.plain) is not None and things <= other.terms


def _shared(own: frozenset[str], other: frozenset[str]) -> int:
    starts = {term[:PREFIX] for term in other if len(term) >= PREFIX}
    return sum(term in other or (len(term) >= PREFIX and term[:PREFIX] in starts) for term in own)


def _was_tried(said: ParsedPoint, lines: Sequence[RenderedLine]) -> bool:
    """Tell whether a point reports as done what the source only tried."""
    theirs = [clause for line in lines for clause in _clauses(line.text)]
    for own in _clauses(said.plain):
        if own.is_attempt or own.negates:
            continue
        alike = [
            clause
            for clause in theirs
            if _shared(own.terms, clause.terms) >= max(_FEW, _SAME * len(own.terms))
        ]
        if alike and all(clause.is_attempt for clause in alike):
            return True
    return False


def _was_left_open(said: ParsedPoint) -> bool:
    """Tell whether a point reports a decision where the cited messages only speak of deciding."""
    if not any(
        Cue.DECISION in find_cues(clause.plain) and not clause.negates for clause in _clauses(said.plain)
    ):
        return False
    near = said.source.near(range(min(said.cited) - 1, max(said.cited) + 2))
    theirs = [clause for line in near for clause in _clauses(line.text)]
    made = [clause for clause in theirs if Cue.DECISION in find_cues(clause.plain) and not clause.negates]
    return not made and any(_DECIDES.search(clause.plain) for clause in theirs)


def _is_of_another(said: ParsedPoint, lines: Sequence[RenderedLine]) -> bool:
    """Tell whether a point begins with a speaker whose words are another's in the cited messages."""
    speakers = {line.speaker for line in lines if line.role is Role.USER}
    names = dict(_speakers(said))
    words = [normal(word) for word in _NAMED.findall(said.plain)[:_SUBJECT_WORDS]]
    subjects = {names[word] for word in words if word in names}
    subjects |= {speaker for name, speaker in names.items() if words and _opens(words[0], name)}
    if not speakers or len(subjects) != 1 or subjects & speakers:
        return False
    [subject] = subjects
    mentioned = normal("\n".join(line.text for line in lines))
    if any(word in mentioned for word, speaker in names.items() if speaker == subject):
        return False
    terms = said.terms - frozenset(index_terms(subject))
    own = [line for line in said.source.lines if line.speaker == subject and line.kind is LineKind.TEXT]
    theirs = _told(terms, lines)
    return theirs >= _OTHERS_SHARE and _told(terms, own) < _OWN_SHARE * theirs


def _told(terms: frozenset[str], lines: Sequence[RenderedLine]) -> float:
    """Return the largest share of some words in one sentence."""
    sentences = (sentence for line in lines for sentence in split_sentences(line.text)[:_MOST_CLAUSES])
    return max((_shared(terms, frozenset(index_terms(one))) for one in sentences), default=0) / max(
        len(terms), 1
    )


def _opens(text: str, name: str) -> bool:
    """Tell whether a text in a script without blanks begins with a name."""
    return text != name and text.startswith(name) and not name.isascii() and name.upper() == name


def _speakers(said: ParsedPoint) -> Iterator[tuple[str, str]]:
    """Yield each word of a named speaker that names this speaker alone."""
    speakers = {
        line.speaker for line in said.source.lines if line.role is Role.USER and line.kind is LineKind.TEXT
    }
    words = {
        speaker: {normal(word) for word in _NAMED.findall(speaker.partition(" (")[0])} for speaker in speakers
    }
    held = Counter(word for own in words.values() for word in own)
    for speaker, own in words.items():
        yield from ((word, speaker) for word in own if held[word] == 1 and word != Role.USER)
