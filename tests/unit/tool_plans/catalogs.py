# ruff: noqa: E501 - the announcement is a text that somebody pasted
"""A catalog of the size that overwhelms small models, and a request that asks for several things of it."""

from functools import cache
from typing import Any

from context.catalog.read import read_catalog
from context.catalog.types import Catalog

_AREAS = {
    "blog": ("article", ("draft", "publish", "rewrite", "outline")),
    "image": ("illustration", ("generate", "resize", "caption", "upscale")),
    "memory": ("note", ("remember", "recall", "forget", "list")),
    "repo": ("repository", ("clone", "commit", "push", "diff")),
    "web": ("page", ("search", "fetch", "screenshot", "monitor")),
    "mail": ("message", ("send", "read", "archive", "reply")),
    "calendar": ("meeting", ("schedule", "cancel", "move", "invite")),
    "sheet": ("table", ("import", "chart", "sort", "export")),
    "audio": ("recording", ("transcribe", "narrate", "trim", "mix")),
    "video": ("clip", ("render", "cut", "subtitle", "host")),
    "slides": ("deck", ("compose", "theme", "present", "print")),
    "ticket": ("issue", ("file", "assign", "close", "label")),
    "payment": ("invoice", ("issue", "refund", "settle", "remind")),
}
"""Thirteen families of four packs: fifty-two."""


def _pack(area: str, thing: str, action: str) -> dict[str, Any]:
    return {
        "name": f"{area}.{action}",
        "description": (
            f"{action.capitalize()} a {thing}, e.g. one that a person or another step hands over. "
            f"It checks its input first and gives back what it made."
        ),
        "metadata": {
            "accepts": [thing, "text"],
            "produces": [f"{action}_{thing}"],
            "intent_keywords": [f"{action} a {thing}", f"{action} the {thing}", f"{area} {action}"],
            "typical_use": f"Somebody says that they would like to {action} a {thing}.",
            "limitations": [f"one {thing} at a time"],
        },
    }


def _pipeline(number: int, areas: tuple[str, str, str]) -> dict[str, Any]:
    parts = [f"{area}.{_AREAS[area][1][number % 4]}" for area in areas]
    return {
        "id": f"flow.{number:02}",
        "name": f"From {areas[0]} to {areas[2]}",
        "description": (
            f"Runs {', '.join(parts[:-1])} and {parts[-1]} one after the other. "
            "It hands each result to the following step and stops at the first that fails."
        ),
        "metadata": {
            "intent_keywords": [f"{areas[0]} into {areas[2]}", f"{areas[1]} run {number}"],
            "supersedes": parts,
        },
        "steps": [
            {
                "id": f"s{place}",
                "pack": part,
                "inputs_used": ["source", "language", "audience", "length", "style"],
                "notes": f"Takes what step {place} left, and keeps the names of things as they are.",
            }
            for place, part in enumerate(parts)
        ],
        "inputs": ["source", "language", "audience", "length", "style", "title"],
    }


def large_guide() -> dict[str, Any]:
    """A routing guide of 52 packs and 21 pipelines."""
    areas = list(_AREAS)
    packs = [_pack(area, thing, action) for area, (thing, actions) in _AREAS.items() for action in actions]
    triples = [(areas[n % 13], areas[(n + 4) % 13], areas[(n + 9) % 13]) for n in range(21)]
    return {"packs": packs, "pipelines": [_pipeline(n, triple) for n, triple in enumerate(triples)]}


@cache
def large_catalog() -> Catalog:
    """The same, read."""
    return read_catalog(large_guide())


SMALL_GUIDE: dict[str, Any] = {
    "packs": [
        {"name": "notes.keep", "description": "Remember a fact for later."},
        {"name": "blog.draft", "description": "Draft a blog article from a brief."},
        {"name": "blog.publish", "description": "Publish a finished blog article."},
        {"name": "image.generate", "description": "Generate an illustration from a description."},
        {"name": "weather.now", "description": "Tell the weather of a city."},
    ],
    "pipelines": [
        {
            "id": "flow.blog",
            "name": "Whole blog",
            "description": "Draft a blog article and publish it.",
            "metadata": {"supersedes": ["blog.draft", "blog.publish"]},
            "inputs": ["brief", "title"],
        }
    ],
}


@cache
def small_catalog() -> Catalog:
    """Five packs, and a pipeline that does what two of them do."""
    return read_catalog(SMALL_GUIDE)


ANNOUNCEMENT = """\
Today the Harbour Lane team shows Kestrel 3, the third generation of its small field computer. It is built for \
people who work outdoors: surveyors, rangers, harvest crews and those who look after wind turbines. The case is \
sealed against dust and salt water, and the screen stays readable at noon. The battery lasts for twenty-six \
hours of mixed use and is changed without tools in under a minute.

Kestrel 3 carries two radios. The first talks to the usual mobile networks; the second reaches its neighbours \
directly, over up to nine kilometres, so that a crew keeps its maps and its messages even where no mast is near. \
Positions are shared every thirty seconds and kept on each device for a week. A new chip recognises forty kinds \
of damage on blades and cables from a photograph, without sending it anywhere.

"We spent two winters with people who fix turbines," says the head of design, "and we took out everything that \
they never touched." Gone are the side keys, the stylus and the docking port; new are a lamp, a buzzer that is \
heard over an engine, and a strap that takes gloves. Repairs are meant to be done by the owner: seven screws, \
one size, and spare parts for ten years at list price.

Kestrel 3 ships in the second week of May in grey and in orange, from 640, with a discount for crews of more \
than five. The software is free of charge for existing customers, and open to inspection. A recording of the \
event, drawings for the holder and a list of dealers are on the press page from tonight."""
"""About one and a half kilobytes that somebody pastes before they say what they want."""

MULTI_INTENT = (
    f"{ANNOUNCEMENT}\n\nPlease remember this note, draft a blog article about it and generate an "
    "illustration for it."
)


if __name__ == "__main__":
    import json

    guide = large_guide()
    print(*(len(json.dumps(guide[key])) for key in guide), len(ANNOUNCEMENT))  # noqa: T201
