"""An agent of pydantic-ai with our capability."""

import asyncio
from collections.abc import Callable

import openai
import pytest
from conftest import PATIENT_S, TURNS, WINDOW, Model, Service, question
from pydantic_ai import Agent, AudioUrl, ImageUrl
from pydantic_ai.messages import ModelRequest, UserPromptPart
from pydantic_ai.models.openai import OpenAIChatModel
from pydantic_ai.providers.openai import OpenAIProvider

from afterturn_client import AsyncAfterturn, Options
from afterturn_client.integrations.pydantic_ai import AfterturnHistory, read_messages, write_messages


def read_file(path: str) -> str:
    """Read a file."""
    return "9 kg"


def test_32_turns_with_tools_and_streams(
    service: Service, model: Model, options: Options, session_id: str, holds: Callable[[str], None]
) -> None:
    async def talk() -> None:
        provider = openai.AsyncOpenAI(
            base_url=model.base_url, api_key="none", max_retries=0, timeout=PATIENT_S
        )
        llm = OpenAIChatModel("gpt-4o", provider=OpenAIProvider(openai_client=provider))
        async with AsyncAfterturn(service.url, service.key, options=options) as client:
            limits = {"context_window": WINDOW, "max_tokens": 300}
            history = AfterturnHistory(client, session_id, "gpt-4o", limits)
            agent = Agent(llm, instructions="You run a store.", tools=[read_file], capabilities=[history])
            for number in range(1, TURNS + 1):
                model.plan(number)
                if number % 2:
                    answer = (await agent.run(question(number))).output
                else:
                    async with agent.run_stream(question(number)) as result:
                        answer = await result.get_output()
                assert answer.startswith(f"answer {number} ")
        await provider.close()

    asyncio.run(talk())
    holds(session_id)
    assert model.requests()[-1]["messages"][0] == {"role": "system", "content": "You run a store."}


def test_images_go_both_ways_and_what_has_no_form_is_named() -> None:
    said = ModelRequest(parts=[UserPromptPart(["What is this?", ImageUrl("https://127.0.0.1/crate.png")])])
    [written] = write_messages([said])
    assert written["content"][1] == {"type": "image_url", "image_url": {"url": "https://127.0.0.1/crate.png"}}
    [read] = read_messages([written])
    assert [part.content for part in read.parts] == [part.content for part in said.parts]
    with pytest.raises(TypeError, match="AudioUrl has no form"):
        list(write_messages([ModelRequest(parts=[UserPromptPart([AudioUrl("https://127.0.0.1/a.wav")])])]))
