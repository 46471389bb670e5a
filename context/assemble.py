"""The sole assembler of a window: system prompt, summary, recent turns, new message; within the budget."""

from collections import defaultdict
from collections.abc import Sequence
from dataclasses import dataclass

from context.budget import require_fit
from context.certificate import Block, Carried, Certificate, Exclusion
from context.history import read_history
from context.outgoing import Outgoing, Sender, count_of, recounted
from context.pairing import Repair
from context.recall.region import name_messages
from context.recall.selection import RecallBlock
from context.tokens import EMPTY, PLAIN, Count, Request, count_message, estimate, guarantee
from context.trim import Trim, trim_turn
from context.types import Message, Wire
from context.window import (
    Notes,
    Unread,
    Window,
    WindowRequest,
    new_message,
    notes_message,
    recall_message,
)
from context.wire import Loss

__all__ = ["Notes", "Unread", "Window", "WindowRequest", "build_messages", "new_message", "notes_message"]

TRIM_ATTEMPTS = 4
"""How often a turn is shortened again because it costs more in the outgoing format than in its own."""


def build_messages(request: WindowRequest) -> Window:
    """Fill a window: what must be sent, then the summary, whole turns from the newest back, then recall.

    History is one contiguous suffix: the first turn that does not fit ends it. Where not even the newest
    turn fits, its tool results are shortened, its calls stay. Every part is priced as it goes out.

    Args:
        request: What there is.

    Returns:
        Messages whose tokens and output limit never exceed the window, and their certificate.

    Raises:
        FixedPartOverBudgetError: What must be sent is over, before any history.
        InvalidInputError: The new messages answer a call that nobody made, or make one that nobody answers.
    """
    return _Assembly(request).window()


@dataclass(frozen=True)
class _Taken:
    """Messages in the window: what they cost there in the model's tokens, and what was cut out of them."""

    messages: Sequence[Message]
    cost: int = 0
    trims: Sequence[Trim] = ()


@dataclass(frozen=True)
class _Recalled:
    """The recalled stretches in the window, and their message."""

    blocks: Sequence[RecallBlock] = ()
    message: Message | None = None
    cost: int = 0


class _Assembly:
    """One window under construction: what must be sent first, then what fits."""

    def __init__(self, request: WindowRequest) -> None:
        self.request = request
        self.sender = Sender(request.wire, request.model)
        self.history = read_history(
            self.sender.adopt(request.tail),
            self.sender.adopt(request.new),
            partial=request.unread is not None,
        )
        self.fixed: dict[str, int] = {}
        self.open_turn = _Taken(())
        self.notes: Message | None = None
        self.taken: list[_Taken] = []
        self.taken_cost = 0
        self.recalled = _Recalled()

    def window(self) -> Window:
        left = self._fix()
        left = self._take_turns(self._take_notes(left))
        left = self._take_recall(left)
        sent, messages = self._send(left)
        system, apart = self.request.system, self.request.wire is Wire.ANTHROPIC
        prompts = [str(system.body["content"])] if system else []
        prompts += [sent.system] if sent.system else []
        return Window(
            items=(system.raw, *sent.items) if system and not apart else sent.items,
            system="\n\n".join(prompts) if apart and prompts else None,
            dropped=sent.dropped,
            messages=messages,
            certificate=self._certify(sent),
            estimated_tokens=self._estimate(sent),
            calibration=self.request.calibration,
        )

    def price(self, count: Count) -> int:
        """Bound a stored count in the model's own tokens."""
        return guarantee(count, self.request.model, calibration=self.request.calibration)

    def _estimate(self, sent: Outgoing) -> int:
        count = sent.count + (count_of([self.request.system]) if self.request.system else EMPTY)
        beside = Request(tools=self.request.tools)
        return estimate(count, self.request.model, beside, calibration=self.request.calibration)

    def _cost(self, messages: Sequence[Message]) -> int:
        return self.price(self.sender.count(messages))

    def _price_request(self, request: Request) -> int:
        return guarantee(EMPTY, self.request.model, request, calibration=self.request.calibration)

    def _fix(self) -> int:
        """Price what must be sent. Returns what it leaves."""
        overhead = self._price_request(PLAIN)
        self.fixed["overhead"] = overhead
        if self.request.system:
            self.fixed["system_prompt"] = self.price(count_of([self.request.system]))
        if self.request.tools.tools:
            self.fixed["tools"] = self._price_request(Request(tools=self.request.tools)) - overhead
        self.fixed["new_messages"] = self._cost(self.history.new)
        if self.history.open_turn:
            self.open_turn = self._fit_open_turn(
                self.request.budget.input_tokens - sum(self.fixed.values()), self.history.open_turn
            )
            self.fixed["open_turn"] = self.open_turn.cost
        return require_fit(self.fixed, self.request.budget)

    def _fit_open_turn(self, left: int, messages: Sequence[Message]) -> _Taken:
        """Price the stored turn that the new messages complete; shorten its results if it is too large."""
        cost = self._cost(messages)
        shorter = self._shorten(messages, left) if cost > left else None
        return shorter or _Taken(messages, cost)

    def _take_notes(self, left: int) -> int:
        notes = self.request.notes
        if notes is None:
            return left
        message = notes_message(notes, self.request.wire)
        cost = self.price(count_of([message]))
        if cost > left:
            return left
        self.notes = message
        return left - cost

    def _take_turns(self, left: int) -> int:
        """Take whole turns, newest first, until one does not fit; shorten the newest rather than lose it."""
        turns = self.history.turns
        whole = [message for turn in turns for message in turn]
        if self.price(count_of(whole)) <= left and (cost := self._cost(whole)) <= left:
            self.taken = [_Taken(turn) for turn in reversed(turns)]
            self.taken_cost = cost
            return left - cost
        return self._take_newest(left)

    def _take_newest(self, left: int) -> int:
        for turn in reversed(self.history.turns):
            cost = self._cost(turn)
            taken = _Taken(turn, cost) if cost <= left else None
            if taken is None and not self.taken:
                taken = self._shorten(turn, left)
            if taken is None:
                break
            self.taken.append(taken)
            self.taken_cost += taken.cost
            left -= taken.cost
        return left

    def _take_recall(self, left: int) -> int:
        """Take recall last: it is a help, and displaces nothing. Where it is too large, the weakest goes."""
        blocks = list(self.request.recall or ())
        while blocks:
            message = recall_message(blocks, self.request.wire)
            cost = self.price(count_of([message]))
            if cost <= left:
                self.recalled = _Recalled(blocks, message, cost)
                return left - cost
            blocks.remove(min(blocks, key=lambda block: block.score))
        return left

    def _shorten(self, messages: Sequence[Message], left: int) -> _Taken | None:
        """Make messages fit by shortening what their tools returned."""
        stored = sum(message.tokens for message in messages)
        rate = max(self._cost(messages) / max(stored, 1), 0.01)
        room = int(left / rate)
        for _ in range(TRIM_ATTEMPTS):
            result = trim_turn(messages, room, _count) if room > 0 else None
            if result is None:
                return None
            shorter = list(result.messages)
            for trim in result.trims:
                shorter[trim.index] = recounted(shorter[trim.index])
            cost = self._cost(shorter)
            if cost <= left:
                return _Taken(shorter, cost, result.trims)
            room -= int((cost - left) / rate) + 1
        return None

    def _send(self, left: int) -> tuple[Outgoing, tuple[Message, ...]]:
        """Write the window and count it whole; where that is more than its parts, give the oldest back."""
        urgency = 1
        while True:
            messages = self._messages()
            sent = self.sender.send(messages)
            over = self.price(sent.count) - self._priced() - left
            if over <= 0:
                self.fixed["overhead"] += max(over + left, 0)
                return sent, messages
            if not self.taken and self.notes is None and self.recalled.message is None:
                require_fit({**self.fixed, "format": over + left}, self.request.budget)
            left += self._give_back(over * urgency)
            urgency *= 2

    def _messages(self) -> tuple[Message, ...]:
        """The summary, the turns, then recall, which differs each time: nothing before it changes with it."""
        notes = [self.notes] if self.notes else []
        recalled = [self.recalled.message] if self.recalled.message else []
        shorter = dict(zip(map(id, self.history.open_turn), self.open_turn.messages, strict=True))
        ending = [shorter.get(id(message), message) for message in self.history.ending]
        turns = (message for turn in reversed(self.taken) for message in turn.messages)
        return (*notes, *turns, *recalled, *ending)

    def _priced(self) -> int:
        """What the messages of the window cost part by part."""
        ending = self.fixed["new_messages"] + self.open_turn.cost
        return self._notes_cost() + self.recalled.cost + self.taken_cost + ending

    def _notes_cost(self) -> int:
        return self.price(count_of([self.notes])) if self.notes else 0

    def _give_back(self, tokens: int) -> int:
        """Leave out recall and the oldest turns until so many tokens are free, then the summary."""
        freed = self.recalled.cost
        self.recalled = _Recalled()
        freed += self._give_turns_back(tokens - freed)
        if freed < tokens:
            freed += self._notes_cost()
            self.notes = None
        return freed

    def _give_turns_back(self, tokens: int) -> int:
        before, gone = self.taken_cost, 0
        while self.taken and gone < tokens:
            gone += self._cost(self.taken.pop().messages)
        self.taken_cost = self._cost([message for turn in reversed(self.taken) for message in turn.messages])
        return before - self.taken_cost

    def _certify(self, sent: Outgoing) -> Certificate:
        budget, notes = self.request.budget, self.request.notes
        blocks = self._blocks()
        tail = self._tail_seqs()
        stored = self.history.stored_seqs
        return Certificate(
            input_tokens=sum(block.tokens for block in blocks),
            budget=budget.input_tokens,
            context_window=budget.context_window,
            max_tokens=budget.max_tokens,
            summary_covers=(notes.from_seq, notes.to_seq) if notes and self.notes else None,
            tail=(tail[0], tail[-1]) if tail else None,
            tail_contiguous=not tail or tail == [seq for seq in stored if seq >= tail[0]],
            tool_pairs_intact=sent.pairs_intact,
            blocks=blocks,
            excluded=self._exclusions(),
            repairs=tuple(_say(repair) for repair in self.history.repairs if self._concerns(repair)),
            losses=_group(sent.dropped),
        )

    def _tail_seqs(self) -> list[int]:
        """The places of the stored messages in the window, ascending."""
        parts = (*self.taken, self.open_turn)
        return sorted({message.seq for part in parts for message in part.messages})

    def _blocks(self) -> tuple[Block, ...]:
        notes, seqs = self.request.notes, self._tail_seqs()
        history = self.taken_cost + self.open_turn.cost
        blocks = [
            Block(part, self.fixed[part], "request", "instructions")
            for part in ("overhead", "system_prompt", "tools")
            if part in self.fixed
        ]
        if notes and self.notes:
            origin = f"summary {notes.version}, messages {notes.from_seq}-{notes.to_seq}"
            blocks.append(Block("summary", self._notes_cost(), origin, "notes"))
        if seqs:
            blocks.append(Block("history", history, f"messages {seqs[0]}-{seqs[-1]}", "conversation"))
        if self.recalled.message:
            origin = f"messages {name_messages(self.recalled.blocks)}"
            blocks.append(Block("recall", self.recalled.cost, origin, "conversation"))
        return (*blocks, Block("new", self.fixed["new_messages"], "request", "conversation"))

    def _exclusions(self) -> tuple[Exclusion, ...]:
        """Name everything that was left out, oldest first."""
        found = []
        notes = self.request.notes
        if notes and not self.notes:
            cost = self.price(count_of([notes_message(notes)]))
            found.append(
                Exclusion(f"summary of messages {notes.from_seq}-{notes.to_seq}", "does-not-fit", cost)
            )
        found += self._excluded_recall()
        found += self._excluded_messages()
        found += [
            Exclusion(
                f"part of message {trim.seq}",
                "shortened-to-fit",
                self.price(Count(trim.tokens_before)) - self.price(Count(trim.tokens_after)),
            )
            for part in (*self.taken[:1], self.open_turn)
            for trim in part.trims
        ]
        return tuple(found)

    def _excluded_recall(self) -> list[Exclusion]:
        if self.request.recall is None:
            return [Exclusion("recall", "search-failed", None)]
        unseen = [block for block in self.request.recall if block not in self.recalled.blocks]
        if not unseen:
            return []
        cost = self.price(count_of([recall_message(unseen)]))
        return [Exclusion(f"recall of messages {name_messages(unseen)}", "does-not-fit", cost)]

    def _excluded_messages(self) -> list[Exclusion]:
        unread = self.request.unread
        turns = self.history.turns[: len(self.history.turns) - len(self.taken)]
        left_out = [*self.history.torn, *(message for turn in turns for message in turn)]
        if not left_out and unread is None:
            return []
        first = unread.from_seq if unread else self.request.tail[0].seq
        last = max((message.seq for message in left_out), default=unread.to_seq if unread else first)
        cost: int | None = self.price(count_of(left_out))
        if unread:
            cost = None if unread.tokens is None else (cost or 0) + self.price(Count(unread.tokens))
        return [Exclusion(f"messages {first}-{last}", "does-not-fit", cost)]

    def _concerns(self, repair: Repair) -> bool:
        """Whether a repair lies in what is sent, and not in what was left out."""
        excluded = len(self.history.turns) - len(self.taken)
        if excluded == 0:
            return True
        return repair.seq > max(message.seq for message in self.history.turns[excluded - 1])


def _count(message: Message) -> int:
    return count_message(message.body, message.wire)


def _say(repair: Repair) -> str:
    end = "message left out" if repair.message_dropped else "taken out"
    return f"message {repair.seq}: {repair.kind} {repair.call_id!r}, {end}"


def _group(losses: Sequence[Loss]) -> tuple[Carried, ...]:
    """Put losses of one kind together: a long history loses the same thing many times."""
    seqs: defaultdict[tuple[str, str], set[int]] = defaultdict(set)
    for loss in losses:
        seqs[loss.kind, loss.why].add(loss.seq)
    return tuple(Carried(kind, why, tuple(sorted(found))) for (kind, why), found in seqs.items())
