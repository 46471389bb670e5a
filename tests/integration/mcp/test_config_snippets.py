"""The page with snippets for agents: by each address and key the official client connects."""

import asyncio
import json
import re
import tomllib
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import httpx2
import pytest
from mcp.client.client import Client
from mcp.client.streamable_http import streamable_http_client

from api.mcp.prompts import PROMPTS
from api.mcp.tools import TOOLS
from tests.integration.agents import Agent

PAGE = Path("docs/how-to/integrations/mcp.md")
HOST = "https://afterturn.example.com"
BLOCK = re.compile(r"^```(json|toml)\n(.*?)^```$", re.MULTILINE | re.DOTALL)
KEY = re.compile(r"\$\{(?:env:|input:)?[\w-]+\}|\{env:\w+\}|\$\w+")
ADDRESSES = ("url", "httpUrl", "serverUrl")


def snippets() -> list[Any]:
    parsers = {"json": json.loads, "toml": tomllib.loads}
    return [parsers[kind](body) for kind, body in BLOCK.findall(PAGE.read_text())]


def objects(value: Any) -> Iterator[dict[str, Any]]:
    """Every object within a value."""
    if isinstance(value, dict):
        yield value
    members = value.values() if isinstance(value, dict) else value if isinstance(value, list) else ()
    for member in members:
        yield from objects(member)


def connection(snippet: Any) -> tuple[str, str]:
    """The address and the header of authorization that a snippet names."""
    for one in objects(snippet):
        address = next((one[name] for name in ADDRESSES if name in one), None)
        if address is not None:
            named = f"Bearer ${one.get('bearer_token_env_var')}"
            return address, one.get("headers", {}).get("Authorization", named)
        if "args" in one:
            header = one["args"][-1].partition(":")
            assert header[0] == "Authorization"
            return one["args"][2], header[2]
    message = "no server in the snippet"
    raise AssertionError(message)


@pytest.mark.parametrize("snippet", snippets(), ids=str)
def test_a_snippet_connects_an_agent(agent: Agent, snippet: Any) -> None:
    address, header = connection(snippet)
    assert address.startswith(HOST)
    at = agent.url + address.removeprefix(HOST)
    key = KEY.sub(agent.key, header)
    sent = {"authorization": key if key.startswith("Bearer ") else f"Bearer {key}"}
    assert agent.key in sent["authorization"]

    async def look() -> tuple[set[str], set[str]]:
        async with (
            httpx2.AsyncClient(headers=sent, timeout=30) as http,
            Client(streamable_http_client(at, http_client=http)) as client,
        ):
            tools, prompts = await client.list_tools(), await client.list_prompts()
            return {each.name for each in tools.tools}, {each.name for each in prompts.prompts}

    assert asyncio.run(look()) == (set(TOOLS), set(PROMPTS))


def test_the_page_names_every_prompt() -> None:
    said = PAGE.read_text()
    assert all(f"`{name}`" in said for name in PROMPTS)
    assert len(snippets()) >= 8
