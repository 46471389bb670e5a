"""Nothing opens an address that came with a request: few files can open any, and settings tell them which."""

import ast
from pathlib import Path

from tests.unit.sources import imported_modules, parsed, place, python_files

SERVED = python_files("api", "models", "context", "workers", "llm")

WAYS_OUT = {
    *("aiohttp", "asyncio", "ftplib", "grpc", "http.client", "httpx", "httpx2", "imaplib", "paramiko"),
    *("pycurl", "redis", "requests", "smtplib", "socket", "ssl", "telnetlib", "urllib.request", "urllib3"),
    *("websockets", "xmlrpc.client", "subprocess", "multiprocessing"),
}

ALLOWED = {
    "api/artifacts/documents/sandbox.py": {
        "subprocess"
    },  # our own reader of PDFs, with nothing of the request but bytes
    "api/cache.py": {"asyncio"},  # a wait until unread texts are dropped
    "api/http/parent.py": {"asyncio", "socket"},  # the bound port, and its connections from outside
    "api/http/caller_limits.py": {"asyncio"},  # a wait for a free place
    "api/http/head_limits.py": {"asyncio"},  # what a connection that was taken says, and when it is given up
    "llm/call.py": {"httpx"},  # time limits of litellm's calls
    "llm/litellm_client.py": {"httpx"},  # litellm's transport
    "llm/scripted/server.py": {"socket"},  # the model of tests, which listens
    "models/tenants/rate_limit.py": {"redis"},  # to AFTERTURN_RATE_URL
    "workers/telemetry.py": {"socket"},  # the name of this machine
}
"""Each with what keeps it from an address of somebody else's choice."""


def ways_out(file: Path) -> set[str]:
    """What a file imports by which something could be opened."""
    return {
        way
        for module in imported_modules(file)
        for way in WAYS_OUT
        if module == way or module.startswith(f"{way}.")
    }


def test_only_these_files_could_open_an_address() -> None:
    found = {place(file): ways_out(file) for file in SERVED}
    assert {file: ways for file, ways in found.items() if ways} == ALLOWED


def settings_of_models(file: Path) -> set[str]:
    """What the arguments by which litellm learns an address are set to."""
    named = {"api_base", "base_url"}
    keywords = [node for node in ast.walk(parsed(file)) if isinstance(node, ast.keyword)]
    plain = {ast.unparse(keyword.value) for keyword in keywords if keyword.arg in named}
    assigned = {
        ast.unparse(node.value)
        for node in ast.walk(parsed(file))
        if isinstance(node, ast.Assign)
        and any(isinstance(target, ast.Subscript) and _key(target) in named for target in node.targets)
    }
    return plain | assigned


def _key(target: ast.Subscript) -> object:
    return target.slice.value if isinstance(target.slice, ast.Constant) else None


def test_a_model_is_reached_where_the_settings_say_and_nowhere_else() -> None:
    files = [file for file in python_files("llm") if "scripted" not in file.parts]
    found = {place(file): settings_of_models(file) for file in files}
    told = {value for values in found.values() for value in values}
    assert told
    assert all(value.startswith("settings.") for value in told), found
