"""Extraction: the parts of an artifact relevant to a question, word for word, with places."""

from context.extract.choose import choose
from context.extract.codec import BadIndexError
from context.extract.index import PassageIndex
from context.extract.stored import INDEX_VERSION
from context.extract.write import Extract, Place, Unit, extract

__all__ = [
    "INDEX_VERSION",
    "BadIndexError",
    "Extract",
    "PassageIndex",
    "Place",
    "Unit",
    "choose",
    "extract",
]
