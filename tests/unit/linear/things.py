"""Functions that read a history: many messages, calls, repeated ids, and pairs that broke."""

from collections.abc import Callable, Iterator
from typing import NamedTuple

from context.conversation.transcript import render_transcript
from context.tokens.budget import Budget
from context.types import Message, Wire
from context.window.assemble import WindowRequest, build_messages
from context.wire.convert import convert
from tests.unit.histories import answers, calls, make_message, number, says

History = list[Message]


class Reading(NamedTuple):
    """A history of any length, and a function that reads the whole of it."""

    history: Callable[[int], History]
    read: Callable[[History], object]

    def of_size(self, size: int) -> History:
        """Make a history of a tenth as many calls as a text of this size has characters."""
        return self.history(size // 10)


def _parallel(wire: Wire) -> Callable[[int], History]:
    """One answer with many calls, each with its result."""

    def history(number_of_calls: int) -> History:
        ids = [f"c{place}" for place in range(number_of_calls)]
        found = [message for one in ids for message in answers([one], "r", wire)]
        return number([says("user", "q", wire), *calls(ids, "", wire), *found, says("assistant", "a", wire)])

    return history


def _same_ids(wire: Wire) -> Callable[[int], History]:
    """Calls that all bear one id, as models do that number the calls of each answer from 0."""

    def history(number_of_calls: int) -> History:
        pairs = [
            message
            for _ in range(number_of_calls)
            for message in (*calls(["call_0"], "", wire), *answers(["call_0"], "r", wire))
        ]
        return number([says("user", "q", wire), *pairs, says("assistant", "a", wire)])

    return history


def _broken(wire: Wire) -> Callable[[int], History]:
    """Results without a call, then calls without a result."""

    def history(number_of_calls: int) -> History:
        lost = [message for n in range(number_of_calls) for message in answers([f"o{n}"], "r", wire)]
        left = [message for n in range(number_of_calls) for message in calls([f"d{n}"], "", wire)]
        return number([says("user", "q", wire), *lost, *left])

    return history


def _with_systems(wire: Wire) -> Callable[[int], History]:
    """A system message between any two messages of a user."""

    def history(number_of_systems: int) -> History:
        pairs = [
            [says("user", f"q{n}", wire), says("system", "Be brief.", wire)] for n in range(number_of_systems)
        ]
        return number([message for pair in pairs for message in pair])

    return history


def _window(wire: Wire, model: str) -> Callable[[History], object]:
    def read(history: History) -> object:
        new = [make_message({"role": "user", "content": "And now?"}, wire)]
        return build_messages(
            WindowRequest(model=model, budget=Budget(2_000_000, 500), new=new, tail=history, wire=wire)
        )

    return read


def _converted(wire: Wire) -> Callable[[History], object]:
    return lambda history: convert(history, wire)


def every_reading() -> dict[str, Reading]:
    """All of them, by a name that tells what is read, and as what."""
    return dict(_readings())


_SHAPES = {"parallel": _parallel, "same-ids": _same_ids, "broken": _broken, "systems": _with_systems}
_MODELS = {Wire.OPENAI: "gpt-4o", Wire.ANTHROPIC: "claude-sonnet-4-5", Wire.RESPONSES: "gpt-5"}


def _readings() -> Iterator[tuple[str, Reading]]:
    for name, shape in _SHAPES.items():
        for wire in Wire:
            yield f"transcript.{name}.{wire}", Reading(shape(wire), _transcript)
            yield f"window.{name}.{wire}", Reading(shape(wire), _window(wire, _MODELS[wire]))
            for to in Wire:
                yield f"convert.{name}.{wire}.{to}", Reading(shape(wire), _converted(to))


def _transcript(history: History) -> object:
    return list(render_transcript(history))
