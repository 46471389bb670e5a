"""Small catalogs, written for these tests."""

from typing import Any

from context.catalog.types import Catalog, Entry, EntryKind
from context.ranking.index import RankingIndex, build_index
from context.ranking.rank import rank


def pack(entry_id: str, description: str = "", **fields: Any) -> Entry:
    """A pack of this id, called by it."""
    return Entry(entry_id, EntryKind.PACK, fields.pop("name", entry_id), description, **fields)


def pipeline(entry_id: str, description: str = "", **fields: Any) -> Entry:
    """A pipeline of this id."""
    return Entry(entry_id, EntryKind.PIPELINE, fields.pop("name", entry_id), description, **fields)


def index_of(*entries: Entry) -> RankingIndex:
    """The index of a catalog of these entries."""
    return build_index(Catalog(entries))


def order_of(index: RankingIndex, intent: str) -> list[str]:
    """All ids, best first."""
    return [entry.entry_id for entry in rank(index, intent).entries]


def matched(index: RankingIndex, intent: str) -> list[str]:
    """The ids that words of the intent speak for, best first."""
    return [entry.entry_id for entry in rank(index, intent).entries if entry.score > 0.0]


OFFICE = index_of(
    pack("get_forecast", "Tell the weather of the next days for a city."),
    pack("send_email", "Send an email with attachments to a recipient."),
    pack("create_event", "Put a meeting into the calendar."),
    pack("generate_image", "Generate an image from a description."),
    pack("convert_currency", "Convert an amount of money between currencies."),
    pack("search_flights", "Search flights between two airports."),
    pack("write_file", "Create a file or replace what is in it."),
    pack("run_query", "Run a query on the sales database."),
    pack("translate_text", "Translate a text into another language."),
    pack("play_song", "Play a song on the speakers."),
)
