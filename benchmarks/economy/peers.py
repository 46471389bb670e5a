"""Other systems on the same conversations; run by an environment of their own, which has them and not us.

`PYTHON benchmarks/economy/peers.py`: reads the conversations as JSON from its input, and writes each request
that a system would send as a line, and after a conversation what its model was asked for. It imports nothing
of this project, and names the packages only as it runs: they stay out of this project's lock.
"""

import importlib
import json
import sys
from collections.abc import Iterator
from typing import Any

Json = dict[str, Any]

TRIGGER_SHARE, TRIGGER_MESSAGES, KEPT_MESSAGES = 0.75, 60, 20
LANGCHAIN, UNTRIMMED, LANGMEM = "LangChain", "LangChain, untrimmed", "langmem"


def main() -> None:
    """Run every system on every conversation."""
    asked = json.load(sys.stdin)
    for peer in (LANGCHAIN, UNTRIMMED, LANGMEM):
        for place, turns in enumerate(asked["courses"]):
            spent = {"calls": 0, "input_tokens": 0, "output_tokens": 0}
            send = _sender(peer, _model(asked["model_url"], spent), asked["window"], asked["max_tokens"])
            for request in _requests(turns, asked["moments"][place], send):
                _tell({"peer": peer, "course": place, **request})
            _tell({"peer": peer, "course": place, "spent": spent})


def _tell(line: Json) -> None:
    sys.stdout.write(json.dumps(line) + "\n")


def _requests(turns: list[list[Json]], moments: list[list[int]], send: Any) -> Iterator[Json]:
    """Send what a turn has at each moment behind what the system keeps; the rest of the turn follows."""
    messages = importlib.import_module("langchain_core.messages")
    kept: list[Any] = []
    for number, turn in enumerate(turns):
        bodies = [{"content": "", **{k: v for k, v in body.items() if v is not None}} for body in turn]
        made = messages.convert_to_messages(bodies)
        for order, message in enumerate(made):
            message.id = f"m{number}-{order}"
        done = 0
        for place in moments[number]:
            kept, sent = send([*kept, *made[done:place]])
            done = place
            yield {"turn": number, "place": place, "messages": messages.convert_to_openai_messages(sent)}
        kept += made[done:]


def _model(url: str, spent: Json) -> Any:
    """The scripted model behind the systems' own client; what it is asked for is added up."""
    httpx, openai = importlib.import_module("httpx"), importlib.import_module("langchain_openai")

    def note(response: Any) -> None:
        response.read()
        usage = response.json()["usage"]
        spent["calls"] += 1
        spent["input_tokens"] += usage["prompt_tokens"]
        spent["output_tokens"] += usage["completion_tokens"]

    http = httpx.Client(event_hooks={"response": [note]}, trust_env=False)
    return openai.ChatOpenAI(
        model="gpt-4o-mini", base_url=url, api_key="sk-of-the-scripted-model", http_client=http, max_retries=0
    )


def _sender(peer: str, model: Any, window: int, max_tokens: int) -> Any:
    if peer == LANGMEM:
        return _langmem(model, window - max_tokens)
    return _langchain(model, window, {} if peer == LANGCHAIN else {"trim_tokens_to_summarize": None})


def _langchain(model: Any, window: int, options: Json) -> Any:
    """`SummarizationMiddleware`, asked before each request."""
    agents = importlib.import_module("langchain.agents.middleware")
    middleware = agents.SummarizationMiddleware(
        model,
        trigger=[("tokens", int(window * TRIGGER_SHARE)), ("messages", TRIGGER_MESSAGES)],
        keep=("messages", KEPT_MESSAGES),
        **options,
    )

    def send(messages: list[Any]) -> tuple[list[Any], list[Any]]:
        changed = middleware.before_model({"messages": messages}, None)
        kept = list(changed["messages"][1:]) if changed else messages
        return kept, kept

    return send


def _langmem(model: Any, room: int) -> Any:
    """`summarize_messages` at three quarters of the room; it keeps all messages and what it summarized."""
    memory = importlib.import_module("langmem.short_term")
    running: list[Any] = [None]

    def send(messages: list[Any]) -> tuple[list[Any], list[Any]]:
        result = memory.summarize_messages(
            messages,
            running_summary=running[0],
            model=model,
            max_tokens=room,
            max_tokens_before_summary=int(room * TRIGGER_SHARE),
        )
        running[0] = result.running_summary
        return messages, list(result.messages)

    return send


if __name__ == "__main__":
    main()
