"""The filter of Open WebUI, with bodies of the documented shapes."""

import asyncio
from typing import Any
from uuid import uuid4

import openai
from conftest import PATIENT_S, TURNS, WINDOW, Model, Service, question

from afterturn_client.integrations.open_webui import Filter


def test_32_turns(service: Service, model: Model, session_id: str) -> None:
    shown: list[dict[str, Any]] = []
    user = {"id": "user-1", "name": "Zoë", "role": "user"}

    async def talk() -> None:
        webui = Filter()
        webui.valves = Filter.Valves(url=service.url, api_key=service.key, context_window=WINDOW)
        provider = openai.AsyncOpenAI(base_url=model.base_url, api_key="none", timeout=PATIENT_S)
        for number in range(1, TURNS + 1):
            text = f"answer {number} " + "is written in the records of hall three. " * 4
            model.next({"mode": "ok", "text": text})
            shown.append({"id": uuid4().hex, "role": "user", "content": question(number)})
            plain = [{"role": one["role"], "content": one["content"]} for one in shown]
            body = {"model": "gpt-4o", "stream": True, "max_tokens": 300, "messages": plain}
            body = await webui.inlet(body, __user__=user, __metadata__={"chat_id": session_id})
            sent = {name: body[name] for name in ("model", "messages", "stream")}
            stream = await provider.chat.completions.create(**sent)
            words = [chunk.choices[0].delta.content or "" async for chunk in stream if chunk.choices]
            shown.append({"id": uuid4().hex, "role": "assistant", "content": "".join(words)})
            done = {"model": "gpt-4o", "messages": list(shown), "chat_id": session_id, "id": shown[-1]["id"]}
            for _ in range(2):
                assert await webui.outlet(done, __user__=user) == done
        await webui.close()
        await provider.close()

    asyncio.run(talk())
    turns = service.turns(session_id)
    assert [turn["messages"][0]["content"] for turn in turns] == [question(n) for n in range(1, TURNS + 1)]
    assert all(turn["messages"][1]["content"].startswith(f"answer {n} ") for n, turn in enumerate(turns, 1))
    assert len(model.requests()[-1]["messages"]) < 2 * TURNS


def test_a_body_without_a_chat_passes_unchanged() -> None:
    body = {"model": "gpt-4o", "messages": [{"role": "user", "content": "x"}]}
    assert asyncio.run(Filter().inlet(dict(body))) == body
