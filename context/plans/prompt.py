"""Messages to a planner: the catalog, the rules for the kind of model, and the request as data."""

import re
from dataclasses import dataclass

from context.clip import clip, drop_encoded
from context.plans.planner import Planner
from context.plans.types import PlanMode
from context.plans.wording import (
    BACKGROUND_TAG,
    CATALOG_TAG,
    FILTER_INSTRUCTIONS,
    REQUEST_TAG,
    TOOLS_TAG,
    plan_instructions,
)
from context.tokens import ModelFamily, count_text, family_of
from context.types import JsonObject
from context.wrappers import escape_tags

PLAN_PROMPT_VERSION = "plan-1"
"""Version of the prompt's wording, stored in each plan's row."""

_TAGS = re.compile(
    rf"<(?=[\s/]*(?:{CATALOG_TAG}|{REQUEST_TAG}|{BACKGROUND_TAG}|{TOOLS_TAG})\b)", re.IGNORECASE
)
_BACKGROUND_SHARE = 0.4
_CHARS_PER_TOKEN = 4


@dataclass(frozen=True)
class PlanQuestion:
    """A question for the planner.

    Attributes:
        intent: The user's request, of any length.
        mode: Ordered steps, or a single pick.
        background: Additional knowledge for the plan; "" for none.
    """

    intent: str
    mode: PlanMode = PlanMode.PLAN
    background: str = ""


def plan_messages(question: PlanQuestion, planner: Planner, catalog: str) -> list[JsonObject]:
    """Write the request to a planner.

    If the provider caches prefixes, the catalog comes first, in the system message. With the same catalog and
    mode the system message is the same, byte for byte, for every intent.

    Args:
        question: The question for the planner.
        planner: The model.
        catalog: The catalog's text for the model.

    Returns:
        A system message and a user message, as OpenAI chat.
    """
    instructions = plan_instructions(question.mode, planner)
    shown = f"<{CATALOG_TAG}>\n{_TAGS.sub('&lt;', catalog)}\n</{CATALOG_TAG}>"
    asked = request_text(question, planner)
    return _chat(shown, instructions, asked, planner)


def request_text(question: PlanQuestion, planner: Planner) -> str:
    """Write the request and its background as data, within the planner's budget."""
    room = planner.request_tokens
    blocks = []
    if question.background.strip():
        background = clip_tokens(question.background, int(room * _BACKGROUND_SHARE))
        room -= count_text(background)
        blocks.append(_wrap(BACKGROUND_TAG, background))
    blocks.append(_wrap(REQUEST_TAG, clip_tokens(question.intent, room)))
    return "\n\n".join(blocks)


def filter_messages(question: PlanQuestion, planner: Planner, lines: str) -> list[JsonObject]:
    """Write the request of the filter pass: which ids could help at all.

    Args:
        question: The question for the planner.
        planner: The model.
        lines: Id and description, a line for each entry.
    """
    shown = f"<{TOOLS_TAG}>\n{_TAGS.sub('&lt;', lines)}\n</{TOOLS_TAG}>"
    asked = request_text(question, planner)
    return _chat(shown, FILTER_INSTRUCTIONS, asked, planner)


def _chat(shown: str, instructions: str, asked: str, planner: Planner) -> list[JsonObject]:
    """Assemble the chat: the constant part first for a prefix cache, with a mark for Anthropic models."""
    if not planner.profile.prefix_cache:
        return [
            {"role": "system", "content": instructions},
            {"role": "user", "content": f"{shown}\n\n{asked}"},
        ]
    same = f"{shown}\n\n{instructions}"
    marked = [{"type": "text", "text": same, "cache_control": {"type": "ephemeral"}}]
    is_marked = family_of(planner.model) is ModelFamily.ANTHROPIC
    return [{"role": "system", "content": marked if is_marked else same}, {"role": "user", "content": asked}]


def _wrap(tag: str, text: str) -> str:
    return f"<{tag}>\n{_TAGS.sub('&lt;', escape_tags(text.strip()))}\n</{tag}>"


def clip_tokens(text: str, most_tokens: int) -> str:
    """Keep the head and the tail of a text within a number of canonical tokens, embedded files left out."""
    text = clip(drop_encoded(text), max(most_tokens, 1) * _CHARS_PER_TOKEN * 2)
    while (tokens := count_text(text)) > most_tokens and len(text) > 1:
        text = clip(text, max(int(len(text) * min(0.95, most_tokens / tokens)), 1))
    return text
