"""Well-behaved plans of the scripted model: entries that share words with the request."""

import json
import re
from collections.abc import Mapping, Sequence
from typing import Any

from context.text.terms import index_terms, query_terms
from context.tool_plans.features import split_asks
from context.tool_plans.prompt import CATALOG_TAG, REQUEST_TAG, TOOLS_TAG
from context.types import JsonObject
from llm.scripted.prompt import prompt_text

_MOST_IDS = 5
_FIRST_STEP_ONLY = "more_steps_likely"


def plan_prompt(request: Mapping[str, Any]) -> str | None:
    """Answer a prompt of ours for a plan, or for the ids of a first pass.

    Args:
        request: A chat completion request.

    Returns:
        JSON text in the prompt's form; None for any other prompt.
    """
    text = prompt_text(request)
    asked = _inside(text, REQUEST_TAG)
    if asked is None:
        return None
    lines, catalog = _inside(text, TOOLS_TAG), _inside(text, CATALOG_TAG)
    if lines is not None:
        return json.dumps({"ids": _best(asked, _of_lines(lines))[:_MOST_IDS]})
    if catalog is None:
        return None
    return json.dumps(_plan(asked, _of_catalog(catalog), text, strict="response_format" in request))


def _inside(text: str, tag: str) -> str | None:
    found = re.search(rf"<{tag}>\n(.*?)\n</{tag}>", text, re.DOTALL)
    return found[1] if found else None


def _of_lines(lines: str) -> dict[str, str]:
    named = (line.partition(": ") for line in lines.splitlines())
    return {entry_id: f"{entry_id} {words}" for entry_id, _, words in named}


def _of_catalog(text: str) -> dict[str, str]:
    catalog = json.loads(text)
    entries = [entry for key in ("packs", "tools", "pipelines") for entry in catalog.get(key, [])]
    return {str(entry.get("id") or entry["name"]): json.dumps(entry, ensure_ascii=False) for entry in entries}


def _plan(asked: str, entries: Mapping[str, str], prompt: str, *, strict: bool) -> JsonObject:
    asks = split_asks(asked) or [asked]
    chosen = [(ask, ids[0]) for ask in asks if (ids := _best(ask, entries))]
    tools = dict.fromkeys(tool for _, tool in chosen)
    why = {tool: ask for ask, tool in reversed(chosen)}
    steps = [
        {"order": order, "tool": tool, "args": "{}" if strict else {}, "rationale": why[tool]}
        for order, tool in enumerate(tools, 1)
    ]
    gap = None if len(chosen) == len(asks) else "some of it has no tool"
    if _FIRST_STEP_ONLY in prompt:
        return {"steps": steps[:1], "gap": gap, "more_steps_likely": len(steps) > 1}
    return {"steps": steps, "gap": gap}


def _best(asked: str, entries: Mapping[str, str]) -> Sequence[str]:
    """Rank ids by the number of words shared with the request, most first; ids without any are left out."""
    wanted = set(query_terms(asked))
    shared = {entry_id: len(wanted & set(index_terms(words))) for entry_id, words in entries.items()}
    ranked = sorted(entries, key=lambda entry_id: (-shared[entry_id], entry_id))
    return [entry_id for entry_id in ranked if shared[entry_id]]
