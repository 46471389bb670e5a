"""Questions about the whole of an artifact, naming only the artifact."""

from context.artifacts.types import ContentKind
from context.extract import PassageIndex
from context.focus import Focus, normalise
from context.focus.little import GENERAL
from context.focus.stems import stem
from context.planning.questions import Asking, asking

_ANY = "document text file attachment content contents"
_NAMES: dict[ContentKind, str] = {
    ContentKind.TEXT: "report article paper notes",
    ContentKind.MARKDOWN: "report article paper notes page readme",
    ContentKind.HTML: "page website site article",
    ContentKind.JSON: "json data response result output",
    ContentKind.TABLE: "table sheet spreadsheet csv data",
    ContentKind.LOG: "log logs output",
    ContentKind.CODE: "code source script",
    ContentKind.DIFF: "diff patch changes",
}
_TALK = "meeting conversation discussion call chat interview transcript talk"
_OVERALL = "main key central general overall entire full point points topic topics idea ideas contain"
_ENGLISH = "en"


def _stems(words: str) -> frozenset[str]:
    return frozenset(stem(word, _ENGLISH) for word in words.split())


_GENERAL = _stems(" ".join(sorted(GENERAL))) | _stems(_OVERALL)
_CALLED = {kind: _stems(f"{_ANY} {names}") for kind, names in _NAMES.items()}
_CALLED_TALK = _stems(f"{_ANY} {_TALK}")


def asks_for_all(focus: Focus, title: str, index: PassageIndex) -> bool:
    """Say whether a question is general for the artifact: "summarize the meeting", of a meeting's transcript.

    A general question holds only words to ask for a summary, names of such a text, and words of the title. A
    question for a person, a time or a number asks for one thing, in any words.

    Args:
        focus: The question.
        title: The artifact's common name; empty if unnamed.
        index: The artifact's index, with the kind found.
    """
    if focus.is_general:
        return True
    if focus.denies or focus.turned or asking(focus.original) is Asking.SPECIFIC:
        return False
    own = frozenset(normalise(title).terms) if title else frozenset[str]()
    return frozenset(focus.terms) <= (_GENERAL | _names(index) | own) and focus.sharp <= own


def _names(index: PassageIndex) -> frozenset[str]:
    is_talk = index.kind is ContentKind.TEXT and not index.is_prose
    return _CALLED_TALK if is_talk else _CALLED[index.kind]
