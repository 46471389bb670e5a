"""Drawn catalogs: entries of every shape, in several scripts."""

from typing import Any

from hypothesis import strategies as st

from context.catalog.read import read_catalog
from context.catalog.types import Catalog
from context.types import JsonObject

WORDS = (
    "search",
    "mail",
    "поиск",
    "検索する",
    "blog",
    "e.g. a deck",
    "draw",
    "summarize",
    "🙂",
    'quo"ted',
    "a\\b",
)
names = st.integers(0, 10_000).map(lambda number: f"tool-{number:05}")
words = st.sampled_from(WORDS)
texts = st.lists(words, max_size=12).map(" ".join)
sentences = st.lists(texts, max_size=4).map(". ".join)
phrases = st.lists(texts, max_size=4)


@st.composite
def schemas(draw: st.DrawFn) -> JsonObject:
    fields = draw(st.lists(st.sampled_from(("q", "limit", "path", "title")), max_size=4, unique=True))
    return {
        "type": "object",
        "properties": {name: {"type": "string", "description": draw(sentences)} for name in fields},
        "required": fields[:1],
    }


def metadata() -> st.SearchStrategy[JsonObject]:
    return st.fixed_dictionaries(
        {},
        optional={
            "intent_keywords": phrases,
            "accepts": phrases,
            "produces": phrases,
            "typical_use": sentences,
            "limitations": phrases,
            "supersedes": st.lists(names, max_size=3),
        },
    )


@st.composite
def packs(draw: st.DrawFn, name: str) -> JsonObject:
    base: JsonObject = {"name": name, "description": draw(sentences)}
    shape = draw(st.sampled_from(("guide", "mcp", "openai", "responses", "anthropic")))
    if shape == "guide":
        return {**base, "metadata": draw(metadata())}
    if shape == "mcp":
        extra = {"annotations": {"readOnlyHint": True}} if draw(st.booleans()) else {}
        return {**base, "inputSchema": draw(schemas()), **extra}
    if shape == "openai":
        return {"type": "function", "function": {**base, "parameters": draw(schemas())}}
    if shape == "responses":
        return {"type": "function", **base, "parameters": draw(schemas()), "strict": True}
    return {**base, "input_schema": draw(schemas())}


@st.composite
def pipelines(draw: st.DrawFn, name: str) -> JsonObject:
    steps = draw(
        st.lists(st.fixed_dictionaries({"id": words, "pack": names, "inputs_used": phrases}), max_size=4)
    )
    return {
        "id": f"pipe.{name}",
        "name": draw(texts),
        "description": draw(sentences),
        "metadata": draw(metadata()),
        "steps": steps,
        "inputs": draw(st.lists(words, max_size=3)),
    }


@st.composite
def documents(draw: st.DrawFn, most: int = 12) -> dict[str, Any]:
    """A document as a client sends it, with ids that differ."""
    called = draw(st.lists(names, max_size=most, unique=True))
    cut = draw(st.integers(0, len(called)))
    return {
        draw(st.sampled_from(("tools", "packs"))): [draw(packs(name)) for name in called[:cut]],
        "pipelines": [draw(pipelines(name)) for name in called[cut:]],
    }


def catalogs(most: int = 12) -> st.SearchStrategy[Catalog]:
    return documents(most).map(read_catalog)
