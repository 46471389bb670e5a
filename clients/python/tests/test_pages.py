"""The code of each page of an integration, run as it stands before the real framework."""

import ast
import asyncio
import inspect
import re
from collections.abc import Callable
from pathlib import Path
from typing import Any

import openai
import pytest
from conftest import PATIENT_S, ROOT, Model, Service, text_of
from test_litellm_proxy import MASTER_KEY, MODELS, running_proxy

FOLDER = ROOT / "docs/how-to/integrations"
PAGES = sorted(page.stem for page in FOLDER.glob("*.md") if "```python" in page.read_text())
QUESTION, ANSWER = "Where is crate 7?", "In hall three."


def code_of(page: str, kind: str) -> str:
    return "".join(re.findall(rf"```{kind}\n(.*?)```", (FOLDER / f"{page}.md").read_text(), re.DOTALL))


def run(page: str, session_id: str) -> dict[str, Any]:
    """Run a page's code as `python -m asyncio` does, with a session of the test's own."""
    code = code_of(page, "python").replace("session-42", session_id)
    names: dict[str, Any] = {}
    flags = ast.PyCF_ALLOW_TOP_LEVEL_AWAIT
    done = eval(compile(code, f"{page}.md", "exec", flags=flags), names)
    if inspect.iscoroutine(done):
        asyncio.run(done)
    return names


def call_proxy(service: Service, model: Model, session_id: str, folder: Path) -> None:
    """Follow the page of the proxy: its module and its lines beside a list of models."""
    (folder / "afterturn_callback.py").write_text(code_of("litellm", "python"))
    (folder / "config.yaml").write_text(MODELS.format(base=model.base_url) + code_of("litellm", "yaml"))
    headers = {"x-afterturn-session": session_id}
    with (
        running_proxy(service, folder) as url,
        openai.OpenAI(
            base_url=f"{url}/v1", api_key=MASTER_KEY, default_headers=headers, timeout=PATIENT_S
        ) as client,
    ):
        client.chat.completions.create(model="gpt-4o", messages=[{"role": "user", "content": QUESTION}])


def call_filter(service: Service, model: Model, session_id: str, _folder: Path) -> None:
    """Follow the page of Open WebUI: the function, and its valves."""

    async def talk() -> None:
        function = run("open-webui", session_id)["Filter"]()
        function.valves = function.Valves(url=service.url, api_key=service.key)
        said = {"role": "user", "content": QUESTION}
        body = {"model": "gpt-4o", "messages": [dict(said)]}
        body = await function.inlet(body, __metadata__={"chat_id": session_id})
        async with openai.AsyncOpenAI(base_url=model.base_url, api_key="none", timeout=PATIENT_S) as client:
            told = await client.chat.completions.create(model="gpt-4o", messages=body["messages"])
        answer = {"role": "assistant", "content": told.choices[0].message.content}
        messages = [{"id": "1", **said}, {"id": "2", **answer}]
        await function.outlet({"model": "gpt-4o", "messages": messages, "chat_id": session_id})
        await function.close()

    asyncio.run(talk())


SPECIAL: dict[str, Callable[[Service, Model, str, Path], None]] = {
    "litellm": call_proxy,
    "open-webui": call_filter,
}
"""Pages whose code another program runs."""


@pytest.fixture
def surroundings(service: Service, model: Model, monkeypatch: pytest.MonkeyPatch) -> None:
    """The environment of a reader."""
    for name, value in {
        "AFTERTURN_URL": service.url,
        "AFTERTURN_API_KEY": service.key,
        "OPENAI_BASE_URL": model.base_url,
        "OPENAI_API_KEY": "none",
        "ANTHROPIC_BASE_URL": model.base_url.removesuffix("/v1"),
        "ANTHROPIC_API_KEY": "none",
    }.items():
        monkeypatch.setenv(name, value)


@pytest.mark.usefixtures("surroundings")
@pytest.mark.parametrize("page", PAGES)
def test_a_page_stores_its_turn(
    page: str, service: Service, model: Model, session_id: str, tmp_path: Path
) -> None:
    model.next({"mode": "ok", "text": ANSWER})
    if page in SPECIAL:
        SPECIAL[page](service, model, session_id, tmp_path)
    else:
        run(page, session_id)
    [turn] = service.turns(session_id)
    assert [text_of(message) for message in turn["messages"]] == [QUESTION, ANSWER]
    [request] = model.requests()
    said = request.get("messages") or request["input"]
    assert text_of(said[-1]) == QUESTION
