"""A client of the OpenAI library before a real LiteLLM proxy with the callback."""

import os
import socket
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from uuid import uuid4

import httpx
import openai
import pytest
from conftest import PATIENT_S, TURNS, WINDOW, Model, Service, question

MASTER_KEY = f"sk-{uuid4().hex}"
CALLBACK = """
from afterturn_client import AsyncAfterturn, Options
from afterturn_client.integrations.litellm_proxy import AfterturnCallback
client = AsyncAfterturn(options=Options(context_timeout_s={patient}, record_timeout_s={patient}))
afterturn = AfterturnCallback(client, context_window={window}, max_tokens=300)
"""
MODELS = """
model_list:
  - model_name: gpt-4o
    litellm_params: {{model: openai/gpt-4o, api_base: "{base}", api_key: none, max_retries: 0}}
"""
TOOLS = [
    {
        "type": "function",
        "function": {"name": "read_file", "parameters": {"type": "object", "properties": {}}},
    }
]


@pytest.fixture
def proxy(service: Service, model: Model, tmp_path: Path) -> Iterator[str]:
    (tmp_path / "callback.py").write_text(CALLBACK.format(patient=PATIENT_S, window=WINDOW))
    (tmp_path / "config.yaml").write_text(
        MODELS.format(base=model.base_url) + "litellm_settings:\n  callbacks: callback.afterturn\n"
    )
    with running_proxy(service, tmp_path) as url:
        yield url


@contextmanager
def running_proxy(service: Service, folder: Path) -> Iterator[str]:
    """Run a proxy by the `config.yaml` of a folder, as long as the block."""
    with socket.create_server(("127.0.0.1", 0)) as free:
        port = str(free.getsockname()[1])
    environment = {
        **os.environ,
        "AFTERTURN_URL": service.url,
        "AFTERTURN_API_KEY": service.key,
        "LITELLM_LOCAL_MODEL_COST_MAP": "True",
        "LITELLM_MASTER_KEY": MASTER_KEY,
        "PYTHONPATH": str(Path(__file__).parents[1] / "src"),
    }
    command = [str(Path(sys.executable).parent / "litellm"), "--config", "config.yaml"]
    process = subprocess.Popen([*command, "--host", "127.0.0.1", "--port", port], cwd=folder, env=environment)
    url = f"http://127.0.0.1:{port}"
    try:
        for _ in range(int(PATIENT_S)):
            try:
                if httpx.get(f"{url}/health/liveliness", timeout=5).is_success:
                    break
            except httpx.TransportError:
                assert process.poll() is None
                time.sleep(1)
        yield url
    finally:
        process.terminate()
        process.wait(60)


def test_32_turns_with_tools_and_streams(
    proxy: str, model: Model, session_id: str, holds: Callable[[str], None]
) -> None:
    headers = {"x-afterturn-session": session_id}
    messages: list[dict[str, object]] = [{"role": "system", "content": "You run a store."}]
    with openai.OpenAI(
        base_url=f"{proxy}/v1", api_key=MASTER_KEY, default_headers=headers, timeout=PATIENT_S, max_retries=0
    ) as client:
        for number in range(1, TURNS + 1):
            model.plan(number)
            messages.append({"role": "user", "content": question(number)})
            while True:
                if number % 2:
                    answer = client.chat.completions.create(model="gpt-4o", messages=messages, tools=TOOLS)
                    said = answer.choices[0].message.model_dump(exclude_none=True)
                else:
                    said = streamed(client, messages)
                messages.append(said)
                if not said.get("tool_calls"):
                    break
                messages += [
                    {"role": "tool", "tool_call_id": call["id"], "content": "9 kg"}
                    for call in said["tool_calls"]
                ]
    holds(session_id)


def streamed(client: openai.OpenAI, messages: list[dict[str, object]]) -> dict[str, object]:
    """Read a stream as a client of its own would, by another accumulator than ours."""
    with client.chat.completions.stream(model="gpt-4o", messages=messages, tools=TOOLS) as stream:
        message = stream.get_final_completion().choices[0].message
    said: dict[str, object] = {"role": "assistant", "content": message.content}
    if message.tool_calls:
        calls = [
            {
                "id": one.id,
                "type": "function",
                "function": {"name": one.function.name, "arguments": one.function.arguments},
            }
            for one in message.tool_calls
        ]
        said["tool_calls"] = calls
    return said


def test_a_call_without_a_session_passes_unchanged(proxy: str, model: Model) -> None:
    with openai.OpenAI(base_url=f"{proxy}/v1", api_key=MASTER_KEY, timeout=PATIENT_S) as client:
        client.chat.completions.create(model="gpt-4o", messages=[{"role": "user", "content": "alone"}])
    assert [one["content"] for one in model.requests()[-1]["messages"]] == ["alone"]


def test_the_attempt_after_an_overflow_fits(
    proxy: str, model: Model, session_id: str, service: Service
) -> None:
    headers = {"x-afterturn-session": session_id}
    with openai.OpenAI(
        base_url=f"{proxy}/v1", api_key=MASTER_KEY, default_headers=headers, timeout=PATIENT_S, max_retries=0
    ) as client:
        for number in (1, 2):
            said = {"role": "user", "content": f"{number} " + "long " * 200}
            client.chat.completions.create(model="gpt-4o", messages=[said])
        last = [{"role": "user", "content": "again"}]
        text = "This model's maximum context length is 600 tokens. Your messages resulted in 900 tokens."
        model.next({"mode": "context-length", "text": text})
        with pytest.raises(openai.BadRequestError):
            client.chat.completions.create(model="gpt-4o", messages=last)
        client.chat.completions.create(model="gpt-4o", messages=last)
    refused, fits = model.requests()[-2:]
    assert len(str(fits["messages"])) < len(str(refused["messages"]))
    assert len(service.turns(session_id)) == 3
