"""Drawn catalogs: entries of every shape, in several scripts."""

from typing import Any

from hypothesis import strategies as st

from context.catalog.read import read_catalog
from context.catalog.types import Catalog
from context.types import JsonObject

TEXTS = (
    "",
    "Search the web.",
    "Sends a mail, e.g. to a list. It waits for the answer.",
    "Ищет письма. Только свои.",
    "検索する。結果を返す。",
    'Draws "what" you say\\write 🙂',
    "No end of a sentence " * 9,
)
names = st.integers(0, 10_000).map(lambda number: f"tool-{number:05}")
texts = st.sampled_from(TEXTS)
phrases = st.lists(texts, max_size=3)


@st.composite
def schemas(draw: st.DrawFn) -> JsonObject:
    fields = draw(st.lists(st.sampled_from(("q", "limit", "path", "title")), max_size=4, unique=True))
    return {
        "type": "object",
        "properties": {name: {"type": "string", "description": draw(texts)} for name in fields},
        "required": fields[:1],
    }


def metadata() -> st.SearchStrategy[JsonObject]:
    return st.fixed_dictionaries(
        {},
        optional={
            "intent_keywords": phrases,
            "accepts": phrases,
            "produces": phrases,
            "typical_use": texts,
            "limitations": phrases,
            "supersedes": st.lists(names, max_size=3),
        },
    )


@st.composite
def packs(draw: st.DrawFn, name: str) -> JsonObject:
    base: JsonObject = {"name": name, "description": draw(texts)}
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
        st.lists(st.fixed_dictionaries({"id": texts, "pack": names, "inputs_used": phrases}), max_size=4)
    )
    return {
        "id": f"pipe.{name}",
        "name": draw(texts),
        "description": draw(texts),
        "metadata": draw(metadata()),
        "steps": steps,
        "inputs": draw(phrases),
    }


@st.composite
def documents(draw: st.DrawFn, most: int = 8) -> dict[str, Any]:
    """A document as a client sends it, with ids that differ."""
    called = draw(st.lists(names, max_size=most, unique=True))
    cut = draw(st.integers(0, len(called)))
    return {
        draw(st.sampled_from(("tools", "packs"))): [draw(packs(name)) for name in called[:cut]],
        "pipelines": [draw(pipelines(name)) for name in called[cut:]],
    }


def catalogs(most: int = 8) -> st.SearchStrategy[Catalog]:
    return documents(most).map(read_catalog)
