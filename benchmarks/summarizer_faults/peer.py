"""The chat with LangChain's `SummarizationMiddleware`, in an environment of its own, which has LangChain.

`PYTHON benchmarks/summarizer_faults/peer.py`: reads the trial as JSON from its input, and writes a line for
each turn. It imports nothing of this project, and names the packages only as it runs.
"""

import importlib
import json
import sys
import time
from typing import Any


def main() -> None:
    """Talk, with the history where the agent keeps it by default."""
    trial = json.load(sys.stdin)
    agent = _agent(trial)
    for question in trial["questions"]:
        begun = time.monotonic()
        error = None
        try:
            said = {"messages": [{"role": "user", "content": question}]}
            agent.invoke(said, {"configurable": {"thread_id": "chat"}})
        except Exception as caught:  # noqa: BLE001 - any error is the turn's result
            error = type(caught).__name__
        sys.stdout.write(json.dumps({"wait_s": time.monotonic() - begun, "error": error}) + "\n")
        sys.stdout.flush()


def _agent(trial: dict[str, Any]) -> Any:
    agents = importlib.import_module("langchain.agents")
    middleware = importlib.import_module("langchain.agents.middleware")
    openai = importlib.import_module("langchain_openai")
    memory = importlib.import_module("langgraph.checkpoint.memory")
    model = {"base_url": trial["model_url"], "api_key": "none", "max_retries": 0, "timeout": trial["limit_s"]}
    summarizer = middleware.SummarizationMiddleware(
        openai.ChatOpenAI(model=trial["summarizer"], **model),
        trigger=[("tokens", trial["window"] * 3 // 4), ("messages", 60)],
        keep=("messages", 20),
    )
    return agents.create_agent(
        openai.ChatOpenAI(model=trial["model"], **model),
        tools=[],
        middleware=[summarizer],
        checkpointer=memory.InMemorySaver(),
    )


if __name__ == "__main__":
    main()
