"""Short conversations for the tests of recall."""

import json

from context.conversation.transcript import RenderLimits, render_transcript
from context.recall.passages import Passage, make_passages
from context.tokens.text import count_text
from context.types import Message, Role

UNCUT = RenderLimits(message_chars=1_000_000)


def said(*texts: str, speaker: str | None = None, first: int = 1) -> list[Message]:
    """One user message a text, each a turn of its own."""
    return [
        Message(
            seq, Role.USER, count_text(words), json.dumps({"role": "user", "content": words}), speaker=speaker
        )
        for seq, words in enumerate(texts, first)
    ]


def passages_of(*texts: str, speaker: str | None = None) -> list[Passage]:
    """The passages of a conversation of such messages."""
    lines = render_transcript(said(*texts, speaker=speaker), limits=UNCUT)
    return make_passages(lines, turn_of=lambda seq: seq, count=count_text)
