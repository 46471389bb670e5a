"""Well-behaved notes of the scripted model: plausible notes, made from the prompt alone."""

import re
from collections.abc import Iterable, Mapping
from typing import Any

from context.conversation.transcript import PREVIOUS_TAG, TRANSCRIPT_TAG
from context.text.exact_values import rank_identifiers
from llm.scripted.prompt import prompt_text

_USER_WEIGHT, _CALL_WEIGHT, _PREVIOUS_WEIGHT = 4.0, 3.0, 20.0
_MAX_NAMES = 60
_MAX_POINT_CHARS = 160
_LEAST_CHARS = 200
_CHARS_PER_TOKEN = 1.5
_DEFAULT_CAP_TOKENS = 4096


def summarize_prompt(request: Mapping[str, Any]) -> str:
    """Write third-person notes of about a third of the prompt's last message, identifiers kept.

    Args:
        request: A chat completion request. Wrappers of our own prompt are read if present; any other text is
            taken whole.

    Returns:
        The notes, within the request's `max_tokens`.
    """
    source = prompt_text({"messages": (request.get("messages") or [])[-1:]})
    transcript, previous = _inside(source, TRANSCRIPT_TAG) or source, _inside(source, PREVIOUS_TAG)
    lines = [line for line in transcript.splitlines() if line.strip()]
    room = _room_chars(request, len(transcript) + len(previous))
    names = rank_identifiers(
        [(previous, _PREVIOUS_WEIGHT), *((line, _weight(line)) for line in lines)], limit=_MAX_NAMES
    )
    points = [*(line[2:] for line in previous.splitlines() if line.startswith("- ")), *map(_point, lines)]
    return "\n".join(
        [
            "## Objective",
            *_fitting((f"- {point}" for point in dict.fromkeys(points) if point not in names), room // 2),
            "## Artifacts and exact identifiers",
            *_fitting((f"- {name}" for name in names), room // 2),
        ]
    )


def _inside(text: str, tag: str) -> str:
    found = re.search(rf"<{tag}>\n(.*?)\n</{tag}>", text, re.DOTALL)
    return found[1] if found else ""


def _room_chars(request: Mapping[str, Any], source_chars: int) -> int:
    cap = request.get("max_tokens") or request.get("max_completion_tokens") or _DEFAULT_CAP_TOKENS
    return max(_LEAST_CHARS, min(source_chars // 3, int(cap * _CHARS_PER_TOKEN)))


def _weight(line: str) -> float:
    if " calls " in line:
        return _CALL_WEIGHT
    return 0.1 if " -> " in line else _USER_WEIGHT if "user" in line[:100] else 1.0


def _point(line: str) -> str:
    return " ".join(line.split())[:_MAX_POINT_CHARS]


def _fitting(points: Iterable[str], room_chars: int) -> list[str]:
    chosen: list[str] = []
    for point in points:
        room_chars -= len(point) + 1
        if room_chars < 0:
            break
        chosen.append(point)
    return chosen
