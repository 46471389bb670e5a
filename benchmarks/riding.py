"""Ask for a summary behind the chat's own prefix, or in a prompt of its own: what does the input cost?

python -m benchmarks.riding

A recorded conversation has just had a turn. All but its newest messages are to be summarized by the model
that chats. Whatever begins like the chat's last request is taken as cached, by OpenAI's rule: from 1,024
tokens on, in steps of 128. A prompt of its own begins like no request before it. Prices are those of the map
that the gateway goes by; the answer costs the same either way and is left out.
"""

import sys
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from itertools import takewhile

from rich.console import Console
from rich.table import Table

from benchmarks.extractive_summaries import read_conversations, to_messages
from benchmarks.report import save
from context.conversation.transcript import participants, render_transcript
from context.conversation.turns import split_turns
from context.summary.prompt import SummaryInput, summary_messages
from context.text.language import main_language
from context.tokens import count_message, measure_tools
from context.tokens.budget import Budget
from context.tokens.message import recounted
from context.types import JsonObject, Message, Role
from context.window.assemble import build_messages
from context.window.prefix_reuse import ChatPrefix, find_ride, prefix_of, ride_messages
from context.window.types import WindowRequest, new_message
from llm.litellm_client import load
from llm.pricing import cost_usd, known_rates
from llm.requests import Usage
from llm.settings import Rates
from tests.data import DATA

SETS = ("tau_airline", "pi_sessions")
EVERY_TURNS = 10
"""A long conversation is looked at after each so many of its turns, as if it ended there."""
MODELS = ("gpt-4o-mini", "gpt-5", "deepseek/deepseek-chat")
BUDGET = Budget(1_000_000, 4_000)
"""Room for every conversation as a whole: what does not fit would not have been sent."""

KEEP_MESSAGES = 6
LEAST_TOKENS, BLOCK_TOKENS = 1_024, 128
SYSTEM = "You are a careful assistant. Use the tools where they help, and say what you did. " * 12
TOOLS: list[JsonObject] = [
    {
        "type": "function",
        "function": {
            "name": name,
            "description": f"Use this to {name.replace('_', ' ')} for the user; it answers as JSON text.",
            "parameters": {"type": "object", "properties": {"id": {"type": "string"}}, "required": ["id"]},
        },
    }
    for name in ("look_up", "find_records", "change_record", "send_message", "read_file", "write_file")
]
"""The recordings have no definitions; these stand for a small set of them."""


@dataclass
class Tally:
    """Input tokens of all summaries of a set."""

    requests: int = 0
    fell_back: int = 0
    ordinary: int = 0
    riding: int = 0
    cached: int = 0


def measure(conversations: Iterator[Sequence[JsonObject]]) -> Tally:
    """Ask for a summary of each conversation in both ways."""
    tally = Tally()
    for bodies in conversations:
        said = [body for body in bodies if body["role"] != "system"]
        messages = [recounted(one) for one in to_messages(said)]
        turns = split_turns(messages)
        for last in {*turns[EVERY_TURNS - 1 :: EVERY_TURNS], turns[-1]}:
            _measure(messages[: last.stop], tally)
    return tally


def _measure(messages: Sequence[Message], tally: Tally) -> None:
    turns = [turn for turn in split_turns(messages) if turn.finished]
    most = min(len(messages) - KEEP_MESSAGES, turns[-1].start if turns else 0)
    stops = [turn.stop for turn in turns if turn.stop <= most]
    if not stops:
        return
    window, prefix = _last_request(messages[: turns[-1].start], messages[turns[-1].start])
    covered = messages[: stops[-1]]
    lines = render_transcript(covered)
    spoken = main_language(line.text for line in lines if line.role is Role.USER)
    asked = SummaryInput(lines, 1_500, spoken, None, participants(lines))
    ordinary = sum(count_message(message) for message in summary_messages(asked))
    tally.requests += 1
    tally.ordinary += ordinary
    stored = messages[: prefix.to_seq] if prefix else ()
    ride = find_ride(prefix, None, stored, up_to_seq=covered[-1].seq) if prefix else None
    if ride is None:
        tally.fell_back += 1
        tally.riding += ordinary
        return
    alike = len(list(takewhile(lambda pair: pair[0] == pair[1], zip(ride.items, window, strict=False))))
    told = ride_messages(ride, asked, base_version=0)
    tools = measure_tools(list(ride.tools)).tokens
    sizes = [count_message(message) for message in told]
    shared = tools + sum(sizes[:alike])
    tally.riding += tools + sum(sizes)
    tally.cached += shared // BLOCK_TOKENS * BLOCK_TOKENS if shared >= LEAST_TOKENS else 0


def _last_request(tail: Sequence[Message], opening: Message) -> tuple[tuple[str, ...], ChatPrefix | None]:
    """What the chat sent at the start of its last turn."""
    system = new_message({"role": "system", "content": SYSTEM}, Role.SYSTEM)
    new = [replace(opening, seq=0)]
    asked = WindowRequest("gpt-4o", BUDGET, new, tail, system=system, tools=measure_tools(TOOLS))
    window = build_messages(asked)
    return window.items, prefix_of(asked, window, TOOLS)


def dollars(rates: Rates, tokens: int, cached: int = 0) -> float:
    """What so much input costs."""
    return float(cost_usd(Usage(tokens, cached, 0, 0), rates) or 0)


def show(name: str, tally: Tally, rates: dict[str, Rates]) -> JsonObject:
    """Print a set's row for each model; return its numbers."""
    share = tally.cached / max(tally.riding, 1)
    title = f"{name}: {tally.requests} requests, {tally.fell_back} asked as ever"
    table = Table("model", title=title, title_justify="left")
    for column in ("tokens, own prompt", "tokens, riding", "cached", "$ own prompt", "$ riding", "ratio"):
        table.add_column(column, justify="right")
    costs: JsonObject = {}
    for model, known in rates.items():
        own, riding = dollars(known, tally.ordinary), dollars(known, tally.riding, tally.cached)
        ratio = riding / own if own else 0.0
        costs[model] = {"own_prompt_usd": own, "riding_usd": riding, "ratio": round(ratio, 4)}
        table.add_row(
            model, f"{tally.ordinary:,}", f"{tally.riding:,}", f"{share:.1%}",
            f"{own:.4f}", f"{riding:.4f}", f"{ratio:.2f}",
        )  # fmt: skip
    Console(width=120).print(table)
    return {**vars(tally), "cached_share": round(share, 4), "models": costs}


def main() -> None:
    """Measure every set that is there, print the tables, write JSON."""
    found = [name for name in SETS if (DATA / name).is_dir()]
    if not found:
        sys.exit(f"none of {', '.join(SETS)} is under {DATA}; set AFTERTURN_DATA to their folder")
    rates = {model: known for model in MODELS if (known := known_rates(load(), model))}
    results = {name: show(name, measure(read_conversations(name)), rates) for name in found}
    print(f"written to {save('riding', results)}")


if __name__ == "__main__":
    main()
