"""Thinking blocks in a model's reply: tags, and removal."""

import re

_THINK = "(?:antml:)?(?:think|thinking|thought|thoughts|reasoning|reflection|scratchpad|analysis)"
THINK_TAG = re.compile(rf"(?<!`)<(/?)({_THINK})(?:\s[^<>]*)?>", re.IGNORECASE)
_OPEN = re.compile(rf"(?:\A|\n)[ \t]*<{_THINK}(?:\s[^<>]*)?>.*\Z", re.DOTALL | re.IGNORECASE)
_STRAY_CLOSE = re.compile(rf"\A.*(?<!`)</{_THINK}\s*>[ \t]*(?=\n|\Z)", re.DOTALL | re.IGNORECASE)
_CHANNEL = re.compile(r"\A.*<\|channel\|>\s*final\s*<\|message\|>", re.DOTALL)


def strip_thinking(text: str) -> str:
    """Remove thinking blocks: closed blocks, an unclosed block, a block without its start.

    Args:
        text: A model's words.

    Returns:
        The remaining words, ends trimmed.
    """
    if "<" not in text:
        return text.strip()
    text = _CHANNEL.sub("", _drop_closed_thinking(text))
    return _OPEN.sub("", _STRAY_CLOSE.sub("", text)).strip()


def _drop_closed_thinking(text: str) -> str:
    """Remove each block from the opening tag to the first closing tag of the same name, in one pass."""
    tags = list(THINK_TAG.finditer(text))
    closings: dict[str, list[re.Match[str]]] = {}
    for tag in reversed(tags):
        if tag[1]:
            closings.setdefault(tag[2].casefold(), []).append(tag)
    kept: list[str] = []
    position = 0
    for tag in tags:
        waiting = closings.get(tag[2].casefold(), [])
        while waiting and waiting[-1].start() < tag.end():
            waiting.pop()
        if not tag[1] and tag.start() >= position and waiting:
            kept.append(text[position : tag.start()])
            position = waiting[-1].end()
    return "".join(kept) + text[position:]
