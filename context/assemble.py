"""The sole assembler of a window: system prompt, summary, recent turns, new message; within the budget."""

import json
from collections.abc import Sequence
from dataclasses import dataclass, replace

from context.budget import Budget, require_fit
from context.certificate import Block, Certificate, Exclusion
from context.errors import InvalidInputError
from context.pairing import Repair, pairs_intact, place_answers, repair_pairs
from context.render import render_summary
from context.tokens import REPLY_OVERHEAD, count_message, family_of, guarantee
from context.trim import trim_turn
from context.turns import Turn, split_turns
from context.types import JsonObject, Message, Role

NOT_STORED = 0
"""The `seq` of a message that the request brings."""


@dataclass(frozen=True)
class Notes:
    """The summary in force.

    Attributes:
        version: Which one it is.
        from_seq: First message that it covers.
        to_seq: Last message that it covers.
        text: What it says.
        tokens: What `notes_message` of it costs; None to have it counted.
    """

    version: int
    from_seq: int
    to_seq: int
    text: str
    tokens: int | None = None


@dataclass(frozen=True)
class Unread:
    """Raw messages older than those that were read, left out unseen because they cannot fit.

    Attributes:
        from_seq: First of them.
        to_seq: Last of them.
    """

    from_seq: int
    to_seq: int


@dataclass(frozen=True)
class WindowRequest:
    """All that a window is made of.

    Attributes:
        model: Whose window it is.
        budget: What it may hold.
        new: The messages that the request brings; `seq` is 0.
        tail: The newest raw messages, oldest first, without a gap.
        system: The system prompt.
        tools_tokens: The canonical count of the tool definitions.
        notes: The summary in force.
        unread: Older raw messages that were not read.
    """

    model: str
    budget: Budget
    new: Sequence[Message]
    tail: Sequence[Message] = ()
    system: Message | None = None
    tools_tokens: int = 0
    notes: Notes | None = None
    unread: Unread | None = None


@dataclass(frozen=True)
class Window:
    """What is sent, in order, and the proof."""

    messages: tuple[Message, ...]
    certificate: Certificate


def new_message(body: JsonObject, role: Role, *, tokens: int | None = None) -> Message:
    """Make a message of our own, in OpenAI chat; counted, unless its tokens are known."""
    raw = json.dumps(body, ensure_ascii=False, separators=(",", ":"))
    return Message(NOT_STORED, role, count_message(body) if tokens is None else tokens, raw)


def notes_message(notes: Notes) -> Message:
    """Write the summary as the user message in which it enters a window; never in the system role."""
    text = render_summary(notes.text, from_seq=notes.from_seq, to_seq=notes.to_seq)
    return new_message({"role": "user", "content": text}, Role.USER, tokens=notes.tokens)


def build_messages(request: WindowRequest) -> Window:
    """Fill a window: what must be sent, then the summary, then whole turns from the newest back.

    History is one contiguous suffix: the first turn that does not fit ends it. Where not even the newest
    turn fits, its tool results are shortened, its calls stay.

    Args:
        request: What there is.

    Returns:
        Messages whose tokens and output limit never exceed the window, and their certificate.

    Raises:
        FixedPartOverBudgetError: What must be sent is over, before any history.
        InvalidInputError: The new messages answer a call that nobody made, or make one that nobody answers.
    """
    return _Assembly(request).window()


class _Assembly:
    """One window under construction; it only ever grows."""

    def __init__(self, request: WindowRequest) -> None:
        self.request = request
        self.family = family_of(request.model)
        self.history, self.repairs = _mend(request)
        self.turns = split_turns(self.history)
        self.first_new = next(i for i, m in enumerate(self.history) if m.seq == NOT_STORED)
        self.blocks: list[Block] = []
        self.excluded: list[Exclusion] = []

    def window(self) -> Window:
        request = self.request
        left = require_fit(self._fixed_parts(), request.budget)
        notes, left = self._take_notes(left)
        open_turn = self._open_turn_start()
        start, trimmed = self._take_turns(open_turn, left)
        tail = [*trimmed, *self.history[start:open_turn]]
        tail += self.history[open_turn : self.first_new]
        self._add_block("history", tail, _range("messages", tail), "conversation")
        new = self.history[self.first_new :]
        self._add_block("new", new, "request", "conversation")
        system = [request.system] if request.system else []
        messages = (*system, *notes, *tail, *new)
        return Window(messages, self._certify(messages, notes, tail))

    def price(self, tokens: int) -> int:
        return guarantee(tokens, self.family)

    def _fixed_parts(self) -> dict[str, int]:
        """What must be sent, in the model's tokens; the turn that the new messages go on is part of it."""
        new = sum(message.tokens for message in self.history[self._open_turn_start() :])
        parts = {"new_messages": self.price(new + REPLY_OVERHEAD)}
        if self.request.system:
            parts["system_prompt"] = self.price(self.request.system.tokens)
            self.blocks.append(Block("system_prompt", parts["system_prompt"], "request", "instructions"))
        if self.request.tools_tokens:
            parts["tools"] = self.price(self.request.tools_tokens)
            self.blocks.append(Block("tools", parts["tools"], "request", "instructions"))
        return parts

    def _open_turn_start(self) -> int:
        """Where the turn of the first new message starts: before it, when that answers stored calls."""
        return max(
            (turn.start for turn in self.turns if turn.start <= self.first_new), default=self.first_new
        )

    def _take_notes(self, left: int) -> tuple[list[Message], int]:
        notes = self.request.notes
        if notes is None:
            return [], left
        message = notes_message(notes)
        cost = self.price(message.tokens)
        what = f"messages {notes.from_seq}-{notes.to_seq}"
        if cost > left:
            self.excluded.append(Exclusion(f"summary of {what}", "does-not-fit", cost))
            return [], left
        self.blocks.append(Block("summary", cost, f"summary {notes.version}, {what}", "notes"))
        return [message], left - cost

    def _take_turns(self, stop: int, left: int) -> tuple[int, list[Message]]:
        """Take whole turns before `stop`, newest first. Returns where they start, and a shortened one."""
        start = stop
        for turn in reversed(self.turns):
            if turn.start >= stop:
                continue
            cost = self.price(turn.tokens)
            if cost > left:
                trimmed = self._shorten(turn, left) if start == stop else []
                self._exclude_before(turn.start if trimmed else turn.stop)
                return start, trimmed
            start, left = turn.start, left - cost
        self._exclude_before(0)
        return start, []

    def _shorten(self, turn: Turn, left: int) -> list[Message]:
        """Make room for the newest turn by shortening what its tools returned."""
        canonical = int(left / max(self.price(10_000) / 10_000, 1))
        result = trim_turn(self.history[turn.start : turn.stop], canonical, _count)
        if result is None:
            return []
        if self.price(result.tokens) > left:
            return []
        self.excluded += [
            Exclusion(f"part of message {trim.seq}", "shortened-to-fit", None) for trim in result.trims
        ]
        return result.messages

    def _exclude_before(self, index: int) -> None:
        unread = self.request.unread
        left_out = self.history[:index]
        if left_out:
            first = unread.from_seq if unread else left_out[0].seq
            cost = None if unread else self.price(sum(message.tokens for message in left_out))
            self._exclude(first, left_out[-1].seq, cost)
        elif unread:
            self._exclude(unread.from_seq, unread.to_seq, None)

    def _exclude(self, first: int, last: int, tokens: int | None) -> None:
        self.excluded.append(Exclusion(f"messages {first}-{last}", "does-not-fit", tokens))

    def _add_block(self, source: str, messages: Sequence[Message], origin: str, trust: str) -> None:
        if messages:
            tokens = self.price(sum(message.tokens for message in messages))
            self.blocks.append(Block(source, tokens, origin, trust))

    def _certify(
        self, messages: tuple[Message, ...], notes: list[Message], tail: list[Message]
    ) -> Certificate:
        budget, summary = self.request.budget, self.request.notes
        canonical = sum(message.tokens for message in messages) + self.request.tools_tokens
        seqs = [message.seq for message in tail]
        stored = [
            message.seq for message in self.history[: self.first_new] if seqs and message.seq >= seqs[0]
        ]
        return Certificate(
            input_tokens=self.price(canonical + REPLY_OVERHEAD),
            budget=budget.input_tokens,
            context_window=budget.context_window,
            max_tokens=budget.max_tokens,
            summary_covers=(summary.from_seq, summary.to_seq) if summary and notes else None,
            tail=(seqs[0], seqs[-1]) if seqs else None,
            tail_contiguous=sorted(seqs) == sorted(stored),
            tool_pairs_intact=pairs_intact(messages),
            blocks=tuple(self.blocks),
            excluded=tuple(self.excluded),
            repairs=tuple(_say(repair) for repair in self.repairs),
        )


def _mend(request: WindowRequest) -> tuple[list[Message], list[Repair]]:
    history, repairs = repair_pairs([*request.tail, *request.new])
    own = [repair for repair in repairs if repair.seq == NOT_STORED]
    if own:
        raise InvalidInputError(
            "messages",
            f"the new messages have a broken tool call ({own[0].kind}, id {own[0].call_id!r}); "
            "send each call with its result",
        )
    if not any(message.seq == NOT_STORED for message in history):
        raise InvalidInputError("messages", "at least one new message is needed")
    recounted = {repair.seq for repair in repairs if not repair.message_dropped}
    mended = [replace(m, tokens=_count(m)) if m.seq in recounted else m for m in history]
    return place_answers(mended), repairs


def _count(message: Message) -> int:
    return count_message(message.body, message.wire)


def _range(what: str, messages: Sequence[Message]) -> str:
    return f"{what} {messages[0].seq}-{messages[-1].seq}" if messages else what


def _say(repair: Repair) -> str:
    end = "message left out" if repair.message_dropped else "taken out"
    return f"message {repair.seq}: {repair.kind} {repair.call_id!r}, {end}"
