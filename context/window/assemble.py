"""The sole assembler of a window: system prompt, summary, recent turns, new message; within the budget."""

from collections.abc import Sequence
from dataclasses import replace

from context.conversation.history import read_history
from context.conversation.turns import opening_of
from context.recall.offer import NO_OFFER
from context.tokens import EMPTY, PLAIN, Count, Request, estimate, guarantee
from context.tokens.budget import require_fit
from context.tokens.message_counts import count_of, recounted
from context.types import Message, Wire
from context.window.artifacts import ArtifactCandidates, ShownArtifacts, fill_shelf
from context.window.certify import Contents, Taken, certify
from context.window.ending import TRIM_ATTEMPTS, Ending, count_stored, fit_ending
from context.window.outgoing import Outgoing, Sender
from context.window.recall import RecallChooser
from context.window.trim import trim_turn
from context.window.types import (
    ActiveSummary,
    NotesVersions,
    Recalled,
    Unread,
    Window,
    WindowRequest,
    artifacts_message,
    new_message,
    notes_message,
)

__all__ = [
    "ActiveSummary",
    "Unread",
    "Window",
    "WindowRequest",
    "build_messages",
    "new_message",
    "notes_message",
]

SECOND_TURN_SHARE = 0.25
"""Largest share of the room for the newest two turns to stay raw before anything else."""

BUDGET_NOTES_SHARE = 0.08
"""Share of a request's own budget for the summary's shortest version, before older turns."""

WINDOW_NOTES_SHARE = 0.25
"""The same share of a window not narrowed by a request."""

PORTION_BEFORE = 0.1
"""Share of the first room before an open turn, by which the turn takes room away as it grows."""

_PROBE = 10_000


def build_messages(request: WindowRequest) -> Window:
    """Fill a window by worth, and write the window in the order best for a provider's prefix cache.

    Room goes to the fixed parts, then to the newest turn or two, to recall up to its share, to a short
    summary, to artifacts, to older turns from the newest back, to a longer summary, to more recall. All
    parts but the fixed may take no more than the budget's limit of history.
    History is one contiguous suffix: the first turn that does not fit ends it. If not even the newest turn
    fits, its tool results are shortened and its calls stay. Every part is priced in the outgoing format.

    Args:
        request: The content available.

    Returns:
        Messages whose tokens and output limit never exceed the window, and their certificate.

    Raises:
        FixedPartOverBudgetError: The fixed parts are over, before any history.
        InvalidInputError: The new messages answer a call made by nobody, or make a call answered by nobody.
    """
    return _Assembly(request).window()


class _Assembly:
    """One window under construction: fixed parts first, then everything that fits."""

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
        self.ending = Ending(Taken(()), Taken(()))
        self.notes: Message | None = None
        self.taken: list[Taken] = []
        self.taken_cost = 0
        self.shelved = ShownArtifacts()
        self.recalled = self.user_recalled = Recalled()
        rate = self.price(Count(_PROBE)) / _PROBE
        self.chooser = RecallChooser(request.recall, request.wire, self.price, rate)
        self.user_chooser = replace(self.chooser, offer=request.user_recall or NO_OFFER)
        self.versions = NotesVersions(self.request.notes, self.request.wire)

    def window(self) -> Window:
        sent, messages = self._send(self._fill_before(self._fix()))
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
            recalled=self.recalled,
            user_recalled=self.user_recalled if self.request.user_recall else None,
        )

    def _fill_before(self, left: int) -> int:
        """Choose everything before the ending, and return the room left.

        In an open turn, the choice of the turn's first request stays while it fits. After that the room
        shrinks by portions, so that most steps begin alike.
        """
        at_first = left + self.ending.cost - self._cost(opening_of(self.history.ending))
        portion = max(int(at_first * PORTION_BEFORE), 1)
        free = self._fill(at_first) + left - at_first
        if free >= 0:
            return free
        smaller = max(at_first - -(-(at_first - left) // portion) * portion, 0)
        return self._fill(smaller) + left - smaller

    def _fill(self, room: int) -> int:
        """Fill a room by worth, and return the room left."""
        self.notes, self.taken, self.taken_cost = None, [], 0
        room_of_history = self.request.budget.history_room(room)
        left = self._take_last(room_of_history)
        needed = self._rest_cost() + self._price_notes(self.versions.whole)
        left = self._take_recalls(left, free=left - needed)
        left = self._take_short_notes(left, everything_fits=needed <= left)
        left = self._take_rest(self._take_artifacts(left))
        left = self._take_more_recall(self._take_longer_notes(left))
        return left + room - room_of_history

    def _contents(self) -> Contents:
        return Contents(
            request=self.request,
            history=self.history,
            fixed=self.fixed,
            open_turn=self.ending.stored,
            new=self.ending.new,
            left_out=self.ending.left_out,
            notes=self.notes,
            taken=self.taken,
            taken_cost=self.taken_cost,
            shelved=self.shelved,
            recalled=self.recalled,
            user_recalled=self.user_recalled,
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
        """Price the fixed parts, and return the room left."""
        overhead = self._price_request(PLAIN)
        self.fixed["overhead"] = overhead
        if self.request.system:
            self.fixed["system_prompt"] = self.price(count_of([self.request.system]))
        if self.request.tools.tools:
            self.fixed["tools"] = self._price_request(Request(tools=self.request.tools)) - overhead
        room = self._input_tokens - sum(self.fixed.values())
        notes = min(self._price_notes(self.versions.shortest()), int(room * BUDGET_NOTES_SHARE))
        self.ending = fit_ending(self.history.ending, room - notes, self._cost)
        return require_fit({**self.fixed, **self.ending.parts}, self.request.budget)

    def _take_last(self, left: int) -> int:
        """Take the newest turn, shortened rather than lost, and the turn before if both are short."""
        room = left
        for turn in reversed(self.history.turns[-2:]):
            cost = self._cost(turn)
            if self.taken and self.taken_cost + cost > room * SECOND_TURN_SHARE:
                break
            taken = Taken(turn, cost) if cost <= left else self._shorten(turn, left)
            if taken is None:
                break
            left -= self._add(taken)
        return left

    def _add(self, taken: Taken) -> int:
        self.taken.append(taken)
        self.taken_cost += taken.cost
        return taken.cost

    def _rest_cost(self) -> int:
        """Bound the cost of the older turns, unread turns included."""
        turns = self.history.turns[: len(self.history.turns) - len(self.taken)]
        unread = self.request.unread
        cost = self.price(count_of([message for turn in turns for message in turn]))
        return (
            cost if unread is None else max(cost + self.price(Count(unread.tokens or 0)), self._input_tokens)
        )

    @property
    def _input_tokens(self) -> int:
        return self.request.budget.input_tokens

    def _price_notes(self, message: Message | None) -> int:
        return self.price(count_of([message])) if message else 0

    def _take_short_notes(self, left: int, *, everything_fits: bool) -> int:
        """Take the whole summary if everything fits; else the longest version within a share of the room."""
        share = BUDGET_NOTES_SHARE if self.request.budget.is_narrowed else WINDOW_NOTES_SHARE
        room = left if everything_fits else int(left * share)
        if self.request.notes and self.request.notes.ending:
            room = max(room, min(self._price_notes(self.versions.shortest()), left))
        return self._take_notes(left, room)

    def _take_longer_notes(self, left: int) -> int:
        """Replace the summary by the longest version that fits beside the older turns."""
        before = self._price_notes(self.notes)
        return self._take_notes(left + before, left + before)

    def _take_notes(self, left: int, room: int) -> int:
        self.notes = next(
            (one for one in self.versions.longest_first() if self._price_notes(one) <= room), self.notes
        )
        return left - self._price_notes(self.notes)

    def _take_artifacts(self, left: int) -> int:
        """Show artifacts in the room not needed by history, and in a share of the room at least."""
        shelf = self.request.shelf
        if shelf is None:
            return left
        room = min(max(int(left * shelf.room_share), left - self._rest_cost()), int(left * shelf.most_share))
        self.shelved = fill_shelf(shelf, room, self.price)
        return left - self.shelved.cost

    def _take_rest(self, left: int) -> int:
        """Take older turns whole, newest first, until one does not fit."""
        turns = self.history.turns
        whole = [message for turn in turns for message in turn]
        if self.taken and self.taken[0].trims:
            return left
        if self.price(count_of(whole)) <= left + self.taken_cost:
            cost = self._cost(whole)
            if cost <= left + self.taken_cost:
                left -= cost - self.taken_cost
                self.taken, self.taken_cost = [Taken(turn) for turn in reversed(turns)], cost
                return left
        for turn in reversed(turns[: len(turns) - len(self.taken)]):
            cost = self._cost(turn)
            if cost > left:
                break
            left -= self._add(Taken(turn, cost))
        return left

    def _take_recalls(self, left: int, *, free: int) -> int:
        """Choose recalled blocks before older turns, so that a tail of small talk cannot starve recall.

        The user's other sessions have a share of their own: before the session's own recall if they cover
        more of the question, else of the room left by it.
        """
        takes = [self._take_recall, self._take_user_recall]
        for take in reversed(takes) if self.user_chooser.offer.goes_first else takes:
            rest = take(left, free)
            left, free = rest, free - (left - rest)
        return left

    def _take_recall(self, left: int, free: int) -> int:
        limits = self.request.recall.limits
        self.recalled = Recalled(cap=min(limits.cap(left, free), left), roomy=free >= limits.tokens)
        return self._choose_recall(left, self.recalled.cap)

    def _take_user_recall(self, left: int, free: int) -> int:
        limits = self.user_chooser.offer.limits
        self.user_recalled = Recalled(cap=min(limits.share_of(left, free), left), roomy=free >= limits.tokens)
        return self._choose_user_recall(left, self.user_recalled.cap)

    def _take_more_recall(self, left: int) -> int:
        """Choose again among the messages absent from the window, in the room really left."""
        left += self.recalled.cost
        if self.request.recall.status is None:
            left = self._choose_recall(left, min(self.recalled.cap, left))
        return left

    def _choose_recall(self, left: int, most: int) -> int:
        self.recalled = self.chooser.choose(self.recalled, min(most, left), self._shown_from())
        return left - self.recalled.cost

    def _choose_user_recall(self, left: int, most: int) -> int:
        self.user_recalled = self.user_chooser.choose(self.user_recalled, min(most, left))
        return left - self.user_recalled.cost

    def _shown_from(self) -> int | None:
        """Return the first raw message of the window; None if all recallable messages are older."""
        first = next((message.seq for message in self.taken[-1].messages), None) if self.taken else None
        return first if first is not None else next((one.seq for one in self.history.open_turn), None)

    def _shorten(self, messages: Sequence[Message], left: int) -> Taken | None:
        """Shorten tool results until messages fit."""
        stored = sum(message.tokens for message in messages)
        rate = max(self._cost(messages) / max(stored, 1), 0.01)
        room = int(left / rate)
        for _ in range(TRIM_ATTEMPTS):
            result = trim_turn(messages, room, count_stored) if room > 0 else None
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
        """Write the window and count the whole; if the count exceeds the parts, drop the oldest."""
        urgency = 1
        while True:
            messages = self._messages()
            sent = self.sender.send(messages)
            over = self.price(sent.count) - self._priced() - left
            if over <= 0:
                self.fixed["overhead"] += max(over + left, 0)
                return sent, messages
            recalled = self.recalled.message or self.user_recalled.message
            if not (self.taken or self.notes or recalled or self.shelved.text):
                require_fit({**self.fixed, **self.ending.parts, "format": over + left}, self.request.budget)
            left += self._give_back(over * urgency)
            urgency *= 2

    def _messages(self) -> tuple[Message, ...]:
        """Return the summary, the turns, then the parts of one request, so that the prefix stays the same."""
        notes = [self.notes] if self.notes else []
        recalled = [one.message for one in (self.user_recalled, self.recalled) if one.message]
        turns = (message for turn in reversed(self.taken) for message in turn.messages)
        shown = [artifacts_message(self.shelved, self.request.wire)] if self.shelved.text else []
        return (*notes, *turns, *shown, *recalled, *self.ending.messages)

    def _priced(self) -> int:
        """Return the cost of the window's messages, part by part."""
        recalled = self.recalled.cost + self.user_recalled.cost
        beside = self._price_notes(self.notes) + self.shelved.cost + recalled
        return beside + self.taken_cost + self.ending.cost

    def _give_back(self, tokens: int) -> int:
        """Leave out recall and the oldest turns until so many tokens are free, then artifacts, then notes."""
        before = self.user_recalled.cost
        freed = self._choose_user_recall(before, before - tokens)
        before = self.recalled.cost
        freed += self._choose_recall(before, before - max(tokens - freed, 0))
        freed += self._give_turns_back(tokens - freed)
        if freed < tokens and self.shelved.text:
            freed += self.shelved.cost
            self.shelved = fill_shelf(self.request.shelf or ArtifactCandidates(), 0, self.price)
        if freed < tokens:
            freed += self._price_notes(self.notes)
            self.notes = None
        return freed

    def _give_turns_back(self, tokens: int) -> int:
        before, gone = self.taken_cost, 0
        while self.taken and gone < tokens:
            oldest = self.taken.pop()
            cost = self._cost(oldest.messages)
            shorter = None if self.taken else self._shorten(oldest.messages, cost - (tokens - gone))
            if shorter is not None:
                trims = (*oldest.trims, *shorter.trims)
                self.taken.append(Taken(shorter.messages, shorter.cost, trims))
                break
            gone += cost
        self.taken_cost = self._cost([message for turn in reversed(self.taken) for message in turn.messages])
        return before - self.taken_cost
