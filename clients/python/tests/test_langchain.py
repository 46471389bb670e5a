"""An agent of LangChain with our middleware."""

import asyncio
from collections.abc import Callable
from typing import Any

import pytest
from conftest import PATIENT_S, TURNS, WINDOW, Model, Service, question
from langchain.agents import create_agent
from langchain_core.tools import tool
from langchain_openai import ChatOpenAI
from langgraph.checkpoint.memory import InMemorySaver

from afterturn_client import Afterturn, AsyncAfterturn, Options
from afterturn_client.integrations.langchain import AfterturnMiddleware


@tool
def read_file(path: str) -> str:
    """Read a file."""
    return "9 kg"


def make_agent(model: Model, middleware: AfterturnMiddleware) -> Any:
    llm = ChatOpenAI(
        model="gpt-4o", base_url=model.base_url, api_key="none", max_retries=0, timeout=PATIENT_S
    )
    return create_agent(
        llm,
        tools=[read_file],
        system_prompt="You run a store.",
        middleware=[middleware],
        checkpointer=InMemorySaver(),
    )


def test_32_turns_with_tools_and_streams(
    service: Service, model: Model, options: Options, session_id: str, holds: Callable[[str], None]
) -> None:
    config = {"configurable": {"thread_id": session_id}}
    with Afterturn(service.url, service.key, options=options) as client:
        agent = make_agent(
            model, AfterturnMiddleware(client, model="gpt-4o", context_window=WINDOW, max_tokens=300)
        )
        for number in range(1, TURNS + 1):
            model.plan(number)
            said = {"messages": [{"role": "user", "content": question(number)}]}
            if number % 2:
                agent.invoke(said, config)
            else:
                assert list(agent.stream(said, config, stream_mode="messages"))
    holds(session_id)


def test_a_coroutine_does_alike(service: Service, model: Model, options: Options, session_id: str) -> None:
    async def talk() -> None:
        async with AsyncAfterturn(service.url, service.key, options=options) as client:
            agent = make_agent(
                model, AfterturnMiddleware(model="gpt-4o", async_client=client, session_id=session_id)
            )
            for number in (2, 3):
                model.plan(number)
                said = {"messages": [{"role": "user", "content": question(number)}]}
                await agent.ainvoke(said, {"configurable": {"thread_id": "x"}})
            with pytest.raises(ValueError, match="give the middleware a client"):
                agent.invoke({"messages": []}, {"configurable": {"thread_id": "y"}})

    asyncio.run(talk())
    assert [len(turn["messages"]) for turn in service.turns(session_id)] == [2, 4]
