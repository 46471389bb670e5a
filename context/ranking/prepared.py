"""A catalog's prepared form: its indexes and the sizes of its tools, computed once and kept as bytes."""

from array import array
from collections import defaultdict
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cache
from itertools import islice
from typing import Any

from context.catalog.convert import define_tools
from context.catalog.tools import SIZE_CODES, ToolLadder, ToolSizes, measure_levels
from context.catalog.types import Catalog, Entry, EntryKind
from context.errors import AfterturnError
from context.priors.types import CorruptPriorsError, pack, unpack
from context.ranking.index import (
    Phrase,
    Postings,
    RankingIndex,
    build_index,
    facts_of,
    join_index,
)
from context.ranking.rank import FormerTools, build_former
from context.ranking.types import EntryFacts
from context.tokens import count_text
from context.types import JsonObject, Wire

_MAGIC = b"ATcf"
_VERSION = 1
_INDEX_CODES = "dBIifH"
"""Type codes of an index: rarity, named, end of each term's postings; places, impacts, fields."""


class CorruptCatalogFormError(AfterturnError):
    """The bytes are no prepared form of the catalog: damaged, of another version, or of another catalog."""

    code = "corrupt-catalog-form"


@dataclass(frozen=True)
class PreparedCatalog:
    """The parts of a catalog that take long to compute.

    Attributes:
        index: Index of the catalog.
        former: Removed tools with their index; None if no tool was removed.
        sizes: Sizes of the tools as defined in each format.
    """

    index: RankingIndex
    former: FormerTools | None
    sizes: Mapping[Wire, ToolSizes]


def prepare_catalog(catalog: Catalog, former: Sequence[Entry] = ()) -> PreparedCatalog:
    """Index a catalog, and measure its tools in each format at each level.

    Args:
        catalog: The catalog.
        former: Entries of earlier versions, the latest version first.
    """
    return PreparedCatalog(
        index=build_index(catalog),
        former=build_former(catalog, former) if former else None,
        sizes=_measure(catalog),
    )


def _measure(catalog: Catalog) -> dict[Wire, ToolSizes]:
    """Measure the tools; a declaration of several formats is counted once."""
    count: Callable[[str], int] = cache(count_text)
    return {wire: measure_levels(define_tools(catalog.entries, wire).tools, count) for wire in Wire}


def pack_prepared(catalog: Catalog, prepared: PreparedCatalog) -> bytes:
    """Write a prepared form as bytes.

    Args:
        catalog: The catalog of the form.
        prepared: The form, with an index of the usual weights.
    """
    former = prepared.former
    header: JsonObject = {"digest": catalog.digest, "index": _words(prepared.index)}
    arrays = _numbers(prepared.index)
    if former is None:
        arrays += _no_numbers()
    else:
        header |= {"former": _words(former.index), "gone": former.added}
        arrays += _numbers(former.index)
    for wire in Wire:
        arrays += _columns(prepared.sizes[wire])
    return pack(_MAGIC, _VERSION, header, arrays)


def unpack_prepared(data: bytes, catalog: Catalog) -> PreparedCatalog:
    """Read the bytes of `pack_prepared`.

    Args:
        data: The bytes, untrusted.
        catalog: The catalog of the form.

    Raises:
        CorruptCatalogFormError: The bytes are damaged, of another version, or of another catalog.
    """
    try:
        header, arrays = unpack(data, _MAGIC, _VERSION, _INDEX_CODES * 2 + SIZE_CODES * len(Wire))
        if header["digest"] != catalog.digest:
            raise CorruptCatalogFormError("the form is of another catalog")
        return _read(header, arrays, catalog)
    except CorruptPriorsError as error:
        raise CorruptCatalogFormError(error.message) from error
    except (LookupError, TypeError, ValueError) as error:
        raise CorruptCatalogFormError("the parts of the form do not fit together") from error


def _read(header: JsonObject, arrays: list["array[Any]"], catalog: Catalog) -> PreparedCatalog:
    taken = iter(arrays)
    entries = list(map(facts_of, catalog.entries))
    index = _read_index(header["index"], _take(taken, _INDEX_CODES), entries)
    numbers = _take(taken, _INDEX_CODES)
    former = None
    if "former" in header:
        added = tuple(
            EntryFacts(entry_id, EntryKind(kind), group) for entry_id, kind, group in header["gone"]
        )
        former = FormerTools(_read_index(header["former"], numbers, [*entries, *added]), added)
    sizes = {wire: _read_sizes(_take(taken, SIZE_CODES), catalog) for wire in Wire}
    return PreparedCatalog(index, former, sizes)


def _take(arrays: Iterator["array[Any]"], codes: str) -> list["array[Any]"]:
    return list(islice(arrays, len(codes)))


def _words(index: RankingIndex) -> JsonObject:
    """Write the texts of an index."""
    phrases = (phrase for found in index.phrases.values() for phrase in found)
    keys = [term for term, found in index.phrases.items() for _ in found]
    return {
        "terms": list(index.postings),
        "phrases": [
            [key, phrase.place, phrase.text, sorted(phrase.terms)]
            for key, phrase in zip(keys, phrases, strict=True)
        ],
    }


def _numbers(index: RankingIndex) -> list["array[Any]"]:
    """Write the numbers of an index: a row for each term, and the postings of all terms end to end."""
    rarity, named, ends, places, impacts, fields = _no_numbers()
    for postings in index.postings.values():
        rarity.append(postings.rarity)
        named.append(postings.named)
        places.extend(postings.places)
        impacts.extend(postings.impacts)
        fields.extend(postings.fields)
        ends.append(len(places))
    return [rarity, named, ends, places, impacts, fields]


class _PackedPostings(Mapping[str, Postings]):
    """Postings by term, each cut out of the arrays of all at its first use: an intent needs few."""

    def __init__(self, terms: Sequence[str], numbers: Sequence["array[Any]"]) -> None:
        self._rows = {term: row for row, term in enumerate(terms)}
        self._numbers = numbers
        self._cut: dict[str, Postings] = {}

    def __getitem__(self, term: str) -> Postings:
        found = self._cut.get(term)
        if found is None:
            found = self._cut[term] = self._read(self._rows[term])
        return found

    def __contains__(self, term: object) -> bool:
        return term in self._rows

    def __iter__(self) -> Iterator[str]:
        return iter(self._rows)

    def __len__(self) -> int:
        return len(self._rows)

    def _read(self, row: int) -> Postings:
        rarity, named, ends, places, impacts, fields = self._numbers
        rows = slice(ends[row - 1] if row else 0, ends[row])
        return Postings(rarity[row], places[rows], impacts[rows], fields[rows], bool(named[row]))


def _no_numbers() -> list["array[Any]"]:
    return [array(code) for code in _INDEX_CODES]


def _read_index(
    words: JsonObject, numbers: Sequence["array[Any]"], entries: Sequence[EntryFacts]
) -> RankingIndex:
    rarity, named, ends, places, *_ = numbers
    if max(places, default=-1) >= len(entries) or (ends[-1] if ends else 0) != len(places):
        raise ValueError("a posting of no entry")
    if not len(words["terms"]) == len(rarity) == len(named) == len(ends):
        raise ValueError("a term without postings")
    postings = _PackedPostings(words["terms"], numbers)
    phrases: dict[str, list[Phrase]] = defaultdict(list)
    for key, place, text, terms in words["phrases"]:
        phrases[key].append(Phrase(place, text, frozenset(terms)))
    return join_index(entries, postings, {key: tuple(found) for key, found in phrases.items()})


def _columns(sizes: ToolSizes) -> list["array[Any]"]:
    columns = (sizes.bytes, sizes.slashes, sizes.alone, sizes.before_slashes, sizes.wide)
    return [array(code, column) for code, column in zip(SIZE_CODES, columns, strict=True)]


def _read_sizes(columns: Sequence["array[Any]"], catalog: Catalog) -> ToolSizes:
    if any(len(column) != ToolLadder.levels * catalog.packs for column in columns):
        raise ValueError("a size of no tool")
    return ToolSizes(*columns)
