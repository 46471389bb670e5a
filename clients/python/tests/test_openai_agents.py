"""An agent of the OpenAI Agents SDK with our session."""

import asyncio
from collections.abc import Callable

import agents
import openai
from conftest import PATIENT_S, TURNS, WINDOW, Model, Service, question

from afterturn_client import AsyncAfterturn, Options
from afterturn_client.integrations.openai_agents import AfterturnSession


@agents.function_tool
def read_file(path: str) -> str:
    """Read a file."""
    return "9 kg"


def test_32_turns_with_tools_and_streams(
    service: Service, model: Model, options: Options, session_id: str, holds: Callable[[str], None]
) -> None:
    async def talk() -> None:
        agents.set_tracing_disabled(True)
        provider = openai.AsyncOpenAI(
            base_url=model.base_url, api_key="none", max_retries=0, timeout=PATIENT_S
        )
        llm = agents.OpenAIChatCompletionsModel(model="gpt-4o", openai_client=provider)
        agent = agents.Agent(name="store", instructions="You run a store.", model=llm, tools=[read_file])
        async with AsyncAfterturn(service.url, service.key, options=options) as client:
            session = AfterturnSession(
                client, session_id, model="gpt-4o", context_window=WINDOW, max_tokens=300
            )
            for number in range(1, TURNS + 1):
                model.plan(number)
                if number % 2:
                    result = await agents.Runner.run(
                        agent, question(number), session=session, run_config=session.run_config()
                    )
                else:
                    result = agents.Runner.run_streamed(
                        agent, question(number), session=session, run_config=session.run_config()
                    )
                    async for _ in result.stream_events():
                        pass
                assert result.final_output.startswith(f"answer {number} ")
        await provider.close()

    asyncio.run(talk())
    holds(session_id)
    assert model.requests()[-1]["messages"][0] == {"role": "system", "content": "You run a store."}
