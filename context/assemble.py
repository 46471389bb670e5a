"""The sole assembler of a window: system prompt, summary, recent turns, new message; within the budget."""

from collections.abc import Sequence

from context.budget import require_fit
from context.certify import Contents, Recalled, Taken, certify
from context.history import read_history
from context.message_counts import count_of, recounted
from context.outgoing import Outgoing, Sender
from context.shelf import Shelf, Shelved, fill_shelf
from context.tokens import EMPTY, PLAIN, Count, Request, count_message, estimate, guarantee
from context.trim import trim_turn
from context.types import Message, Wire
from context.window import (
    Notes,
    Unread,
    Window,
    WindowRequest,
    artifacts_message,
    new_message,
    notes_message,
    recall_message,
)

__all__ = ["Notes", "Unread", "Window", "WindowRequest", "build_messages", "new_message", "notes_message"]

TRIM_ATTEMPTS = 4
"""How often a turn is shortened again because it costs more in the outgoing format than in its own."""


def build_messages(request: WindowRequest) -> Window:
    """Fill a window: what must be sent, the summary, artifacts, whole turns from the newest back, recall.

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


class _Assembly:
    """One window under construction: what must be sent first, then what fits."""

    def __init__(self, request: WindowRequest) -> None:
        self.request = request
        self.sender = Sender(
            request.wire, request.model, has_system=request.system is not None, refused=request.refused
        )
        self.history = read_history(
            self.sender.adopt(request.tail),
            self.sender.adopt(request.new),
            partial=request.unread is not None,
        )
        self.fixed: dict[str, int] = {}
        self.open_turn = Taken(())
        self.notes: Message | None = None
        self.taken: list[Taken] = []
        self.taken_cost = 0
        self.shelved = Shelved()
        self.recalled = Recalled()

    def window(self) -> Window:
        left = self._fix()
        left = self._take_artifacts(self._take_notes(left))
        left = self._take_recall(self._take_turns(left))
        sent, messages = self._send(left)
        system, apart = self.request.system, self.request.wire is Wire.ANTHROPIC
        prompts = [str(system.body["content"])] if system else []
        prompts += [sent.system] if sent.system else []
        return Window(
            items=(system.raw, *sent.items) if system and not apart else sent.items,
            system="\n\n".join(prompts) if apart and prompts else None,
            dropped=sent.dropped,
            messages=messages,
            certificate=certify(self._contents(), sent),
            estimated_tokens=self._estimate(sent),
            calibration=self.request.calibration,
            shelved=self.shelved,
        )

    def _contents(self) -> Contents:
        return Contents(
            request=self.request,
            history=self.history,
            fixed=self.fixed,
            open_turn=self.open_turn,
            notes=self.notes,
            taken=self.taken,
            taken_cost=self.taken_cost,
            shelved=self.shelved,
            recalled=self.recalled,
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

    def _fit_open_turn(self, left: int, messages: Sequence[Message]) -> Taken:
        """Price the stored turn that the new messages complete; shorten its results if it is too large."""
        cost = self._cost(messages)
        shorter = self._shorten(messages, left) if cost > left else None
        return shorter or Taken(messages, cost)

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

    def _take_artifacts(self, left: int) -> int:
        """Show artifacts in what history does not need, and in a share of the room at least."""
        shelf = self.request.shelf
        if shelf is None:
            return left
        whole = self.price(count_of([message for turn in self.history.turns for message in turn]))
        room = min(max(int(left * shelf.room_share), left - whole), int(left * shelf.most_share))
        self.shelved = fill_shelf(shelf, room, self.price)
        return left - self.shelved.cost

    def _take_turns(self, left: int) -> int:
        """Take whole turns, newest first, until one does not fit; shorten the newest rather than lose it."""
        turns = self.history.turns
        whole = [message for turn in turns for message in turn]
        if self.price(count_of(whole)) <= left and (cost := self._cost(whole)) <= left:
            self.taken = [Taken(turn) for turn in reversed(turns)]
            self.taken_cost = cost
            return left - cost
        return self._take_newest(left)

    def _take_newest(self, left: int) -> int:
        for turn in reversed(self.history.turns):
            cost = self._cost(turn)
            taken = Taken(turn, cost) if cost <= left else None
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
                self.recalled = Recalled(blocks, message, cost)
                return left - cost
            blocks.remove(min(blocks, key=lambda block: block.score))
        return left

    def _shorten(self, messages: Sequence[Message], left: int) -> Taken | None:
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
                return Taken(shorter, cost, result.trims)
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
            if not (self.taken or self.notes or self.recalled.message or self.shelved.text):
                require_fit({**self.fixed, "format": over + left}, self.request.budget)
            left += self._give_back(over * urgency)
            urgency *= 2

    def _messages(self) -> tuple[Message, ...]:
        """The summary, the turns, then what differs each time: nothing before it changes with it."""
        notes = [self.notes] if self.notes else []
        recalled = [self.recalled.message] if self.recalled.message else []
        shorter = dict(zip(map(id, self.history.open_turn), self.open_turn.messages, strict=True))
        ending = [shorter.get(id(message), message) for message in self.history.ending]
        turns = (message for turn in reversed(self.taken) for message in turn.messages)
        shown = [artifacts_message(self.shelved, self.request.wire)] if self.shelved.text else []
        return (*notes, *turns, *shown, *recalled, *ending)

    def _priced(self) -> int:
        """What the messages of the window cost part by part."""
        ending = self.fixed["new_messages"] + self.open_turn.cost
        return self._notes_cost() + self.shelved.cost + self.recalled.cost + self.taken_cost + ending

    def _notes_cost(self) -> int:
        return self.price(count_of([self.notes])) if self.notes else 0

    def _give_back(self, tokens: int) -> int:
        """Leave out recall and the oldest turns until so many tokens are free, then artifacts, then notes."""
        freed = self.recalled.cost
        self.recalled = Recalled()
        freed += self._give_turns_back(tokens - freed)
        if freed < tokens and self.shelved.text:
            freed += self.shelved.cost
            self.shelved = fill_shelf(self.request.shelf or Shelf(), 0, self.price)
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


def _count(message: Message) -> int:
    return count_message(message.body, message.wire)
