"""Extraction: the parts of an artifact relevant to a question, word for word, with places."""

from context.extract.choose import choose
from context.extract.index import PassageIndex
from context.extract.store import INDEX_VERSION, BadIndexError
from context.extract.write import CountUnit, Extract, Place, extract

__all__ = [
    "INDEX_VERSION",
    "BadIndexError",
    "CountUnit",
    "Extract",
    "PassageIndex",
    "Place",
    "choose",
    "extract",
]
