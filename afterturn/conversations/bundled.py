"""The demo's conversation: ten days in a cold store, with the mishaps of real work."""

from dataclasses import replace
from pathlib import Path

from afterturn.conversations.depot import GENERATED
from afterturn.conversations.events import Conversation, EventLine, to_conversation
from afterturn.conversations.formats import parse_transcripts

FILE = Path(__file__).with_name("cold_store.json")


def bundled_conversation() -> Conversation:
    """Load the conversation; its long tool results are computed deterministically.

    Returns:
        The conversation: two speakers, two languages, parallel calls, failed calls, a result of 30 kB.
    """
    (transcript,) = parse_transcripts(FILE.read_bytes())
    return to_conversation(replace(transcript, entries=tuple(_fill(entry) for entry in transcript.entries)))


def _fill(entry: EventLine) -> EventLine:
    """Replace a placeholder `{{name}}` by its computed text."""
    content = entry.message.get("content")
    if isinstance(content, str) and content.startswith("{{") and content.endswith("}}"):
        return replace(entry, message={**entry.message, "content": GENERATED[content[2:-2]]()})
    return entry
