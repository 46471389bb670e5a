"""The sole assembler of a window: system prompt, summary, recent turns, new message; within the budget."""

from collections.abc import Callable, Sequence
from dataclasses import replace
from functools import cached_property, partial

from context.conversation.turns import opening_of, read_history
from context.recall.offer import CLOSE_SCORE, NEAR_SCORE, TOLD_SCORE
from context.recall.ranking import find_question
from context.tokens import EMPTY, PLAIN, Count, Request, estimate, guarantee
from context.tokens.budget import require_fit
from context.tokens.message import count_of
from context.types import Message
from context.window.certify import Contents, Taken, certify
from context.window.ending import Cost, Ending, fit_ending
from context.window.outgoing import Outgoing, Sender
from context.window.raw_turns import RawTurns, RecallChooser
from context.window.recall import ArtifactParts, BriefNotes, RecallParts
from context.window.types import (
    BUDGET_NOTES_SHARE,
    ActiveSummary,
    NotesVersions,
    Unread,
    Window,
    WindowRequest,
    artifacts_message,
)
from context.wire.formats import format_of

__all__ = ["ActiveSummary", "Unread", "Window", "WindowRequest", "build_messages"]

REQUIRED_NOTES_SHARE = 0.5
"""Share of the room kept free of the newest turn for a provider's compacted window."""

BARE_SHARE = 0.25
"""Share of the room before an open turn that has outgrown its beginning, for the newest turns before."""

CLOSE_SHARE = 0.25
"""Share of a narrowed room that the newest turn leaves to passages close to the question."""

BRIEF_SHARE, BRIEF_TOKENS = 0.4, 500
"""Share of a narrowed room that the newest turn leaves to brief notes, and the most of it in tokens."""

UNANSWERED_SHARE, LEAST_NOTES_TOKENS = 0.35, 200
"""Share of a narrowed room for notes if no passage tells much of the question; fewer tokens note nothing."""

_PROBE = 10_000


def build_messages(request: WindowRequest) -> Window:
    """Fill a window by worth, and write the window in the order best for a provider's prefix cache.

    Room goes to the fixed parts, then to the newest turn or two, to recall up to its share, to a short
    summary, to artifacts, to older turns from the newest back, to a longer summary, to more recall. All
    parts but the fixed may take no more than the budget's limit of history.
    History is one contiguous suffix: the first turn that does not fit ends it. If not even the newest turn
    fits, its tool results are shortened, and then its oldest steps left out; the user's words and the answer
    stay. Every part is priced in the outgoing format.

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
    """One window under construction: fixed parts first, then everything that fits.

    Its parts get functions, no methods: a cycle would keep all that was read until the garbage collector's
    next whole round, minutes later.
    """

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
        sender, price = self.sender, partial(guarantee, model=request.model, calibration=request.calibration)
        self.price: Callable[[Count], int] = price
        self._cost: Cost = lambda messages: price(sender.count(messages))
        self.fixed: dict[str, int] = {}
        self.ending = Ending(Taken(()), Taken(()))
        self.notes: Sequence[Message] = ()
        self.shelf = ArtifactParts(request.shelf, self.price)
        self.rate = self.price(Count(_PROBE)) / _PROBE
        chooser = RecallChooser(request.recall, request.wire, self.price, self.rate)
        self.turns = RawTurns(self.history.turns, self._cost, self.price)
        shown_from = partial(_shown_from, self.turns, self.history.open_turn)
        self.recall = RecallParts(chooser, request.user_recall, shown_from)
        compacted = self.sender.adopt(request.compacted)
        self.versions = NotesVersions(request.notes, request.wire, compacted)
        self.is_bare = request.is_bare
        self.brief: BriefNotes | None = None

    def window(self) -> Window:
        sent, messages = self._send(self._fill_before(self._fix()))
        system, apart = self.request.system, format_of(self.request.wire).has_system_apart
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
            shelved=self.shelf.shown,
            recalled=self.recall.own,
            user_recalled=self.recall.user if self.request.user_recall else None,
            is_bare=self.is_bare,
        )

    def _fill_before(self, left: int) -> int:
        """Choose everything before the ending, and return the room left.

        In a provider's cache the choice of a turn's first request stays while it fits beside the whole turn.
        After that the turn goes on bare: behind the summary stand few turns or none.
        """
        if not self.request.keeps_prefix:
            return self._fill(left)
        opening = self._cost(opening_of(self.history.ending))
        at_first = left + self.ending.cost - opening
        growth = self._cost(self.history.ending) - opening
        if not self.is_bare:
            used = at_first - self._fill(at_first)
            if used + growth <= at_first:
                return left - used
        return self._fill_bare(at_first, growth, left)

    def _fill_bare(self, at_first: int, growth: int, room: int) -> int:
        """Fill a quarter of the first room with the newest turns, or none of them; return the room left."""
        self.is_bare = True
        self.turns.reset()
        left = self.request.budget.history_room(room)
        self.shelf.drop()
        if self._price_notes(self.notes) > left:
            self.notes = ()
            self._take_notes(left, left)
        left -= self._price_notes(self.notes)
        quarter = int(at_first * BARE_SHARE)
        if self._price_notes(self.notes) + quarter + growth <= at_first:
            self.turns.take_newest(min(quarter, left))
        self.recall.drop()
        return room - self._price_notes(self.notes) - self.turns.cost

    @property
    def _is_steady(self) -> bool:
        """Whether the beginning stays from request to request: in a provider's cache, for usual windows."""
        return self.request.keeps_prefix and not self.request.budget.is_narrowed

    def _fill(self, room: int) -> int:
        """Fill a room by worth, behind the steady summary if any, and return the room left."""
        room_of_history = self.request.budget.history_room(room)
        if self._price_notes(self.notes) > room_of_history:
            self.notes = ()
        notes = self.notes
        left = self._take_newest(room_of_history - self._price_notes(notes))
        if not notes:
            left = self._take_brief_notes(left)
            notes = self.notes
        reserve = 0 if notes else self._reserve_for_talk(left)
        left -= reserve
        needed = self._rest_cost() + (0 if notes else self._price_notes(self.versions.whole))
        left = self.recall.take(left, free=left - needed, spares_turns=self._is_steady)
        if not notes:
            left = self._take_short_notes(left, everything_fits=needed <= left)
        left = self.shelf.take(left, self._rest_cost)
        left = left if self.brief else self.turns.take_rest(left)
        left = self.shelf.take_more(left)
        left = self.recall.take_more(left if notes else self._take_longer_notes(left))
        if reserve:
            self.brief = self._brief_of(self._hidden).of_talk()
        return self._write_brief_notes(left + reserve) + room - room_of_history

    def _take_newest(self, left: int) -> int:
        """Take the newest turn or two; a turn that would starve recall or brief notes is shortened.

        Older results and steps of the turn give way; the words of users and the answer do not.
        """
        rest = self.turns.take_last(left)
        most = left - self._reserve(left) if self._is_cut(rest) else left
        if left - rest <= most:
            return rest
        self.turns.reset()
        if self._are_results_noted and self.turns.take_noted(most):
            return left - self.turns.cost
        shorter = self.turns.take_last(most)
        return shorter + left - most if self.turns.taken else self.turns.take_last(left)

    def _is_cut(self, left: int) -> bool:
        """Tell whether a request's own limit hides some of the stored turns."""
        taken = self.turns.taken
        is_whole = taken and not taken[0].is_shortened and self._rest_cost() <= left
        return self.request.budget.is_narrowed and bool(self.history.turns) and not is_whole

    def _reserve(self, left: int) -> int:
        """Return the room kept free of the newest turn: for brief notes, and for passages.

        Passages close to the question displace notes; half as close ones displace mere ends of results.
        """
        reserve = min(int(left * BRIEF_SHARE), BRIEF_TOKENS) if self._are_results_noted else 0
        if self.is_close or (not reserve and self._is_near(NEAR_SCORE)):
            most = min(self.request.recall.limits.tokens, int(left * CLOSE_SHARE))
            reserve = max(reserve, self.recall.price_before(self.history.turns[-1][0].seq, most))
        return reserve

    @cached_property
    def _are_results_noted(self) -> bool:
        """Whether brief notes can tell the results of all turns, the newest included."""
        return not self.versions.whole and self._brief_of(self.history.turns).is_possible

    @cached_property
    def _is_unanswered(self) -> bool:
        """Whether a search for a short question failed, or found no passage that tells much of it."""
        return self.request.recall.may_be_untold and not self._is_near(TOLD_SCORE)

    @cached_property
    def is_close(self) -> bool:
        """Whether some passage before the newest turn is close to the question."""
        return self._is_near(CLOSE_SCORE)

    def _is_near(self, least: float) -> bool:
        turns = self.history.turns
        return self.request.recall.is_near(turns[-1][0].seq if turns else None, least)

    def _reserve_for_talk(self, left: int) -> int:
        """Return the room kept free for notes of turns of talk, if no passage answers the question."""
        is_bare = not self.versions.whole and self._is_unanswered and self._is_cut(left)
        reserve = int(left * UNANSWERED_SHARE)
        return reserve if is_bare and reserve >= LEAST_NOTES_TOKENS else 0

    @property
    def _hidden(self) -> Sequence[Sequence[Message]]:
        return self.history.turns[: len(self.history.turns) - len(self.turns.taken)]

    def _take_brief_notes(self, left: int) -> int:
        """Take notes before recall: a short summary if no passage answers, else brief notes."""
        if self.versions.whole and self._is_unanswered and self._is_cut(left):
            return self._take_notes(left, int(left * UNANSWERED_SHARE))
        brief = self._brief_of(self._hidden)
        if self.turns.taken and self.turns.taken[0].is_shortened:
            shown = frozenset(message.seq for message in self.turns.taken[0].messages)
            brief = replace(self._brief_of(self.history.turns), shown=shown)
        if self.versions.whole or not self._is_cut(left) or not brief.is_possible:
            return left
        self.brief = brief
        if self.is_close:
            left = self.recall.take_near(left)
        return self._write_brief_notes(left)

    def _brief_of(self, turns: Sequence[Sequence[Message]]) -> BriefNotes:
        covered = [message for turn in turns for message in turn]
        asked = find_question(self.request.new, self.request.tail)
        return BriefNotes(covered, self.request.wire, self.price, self.rate, asked)

    def _write_brief_notes(self, left: int) -> int:
        """Write the brief notes, or write them anew in the room really left."""
        left += self._price_notes(self.notes)
        if self.brief and (found := self.brief.write(left)):
            notes, message = found
            self.request, self.notes = replace(self.request, notes=notes), (message,)
        return left - self._price_notes(self.notes)

    def _contents(self) -> Contents:
        return Contents(
            request=self.request,
            history=self.history,
            fixed=self.fixed,
            open_turn=self.ending.stored,
            new=self.ending.new,
            left_out=self.ending.left_out,
            notes=self.notes,
            taken=self.turns.taken,
            taken_cost=self.turns.cost,
            shelved=self.shelf.shown,
            recalled=self.recall.own,
            user_recalled=self.recall.user,
            is_steady=self._is_steady,
        )

    def _estimate(self, sent: Outgoing) -> int:
        count = sent.count + (count_of([self.request.system]) if self.request.system else EMPTY)
        beside = Request(tools=self.request.tools)
        return estimate(count, self.request.model, beside, calibration=self.request.calibration)

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
        if self._is_steady:
            self.turns.keep_steady(room)
        if self.versions.whole or self.request.unread:
            self.turns.hide_earlier()
        at_first = max(room - self._cost(opening_of(self.history.ending)), 0)
        if self._price_notes(self.versions.required) <= self.request.budget.history_room(at_first):
            self.notes = self.versions.required
        if self._is_steady and not self.notes:
            most = self.request.notes_room(self.request.budget.history_room(room))
            self._take_notes(at_first, min(most, at_first))
        share = REQUIRED_NOTES_SHARE if self.versions.required else BUDGET_NOTES_SHARE
        notes = min(self._price_notes(self.versions.shortest()), int(room * share))
        if self._is_steady and not self.versions.required:
            notes = self._price_notes(self.notes) or notes
        self.ending = fit_ending(self.history.ending, room - notes, self._cost)
        return require_fit({**self.fixed, **self.ending.parts}, self.request.budget)

    def _rest_cost(self) -> int:
        """Bound the cost of the older turns, unread turns included."""
        unread, cost = self.request.unread, self.turns.rest_cost
        return (
            cost if unread is None else max(cost + self.price(Count(unread.tokens or 0)), self._input_tokens)
        )

    @property
    def _input_tokens(self) -> int:
        return self.request.budget.input_tokens

    def _price_notes(self, notes: Sequence[Message]) -> int:
        return self.price(count_of(notes)) if notes else 0

    def _take_short_notes(self, left: int, *, everything_fits: bool) -> int:
        """Take the whole summary if everything fits; else the longest version within a share of the room."""
        room = left if everything_fits else self.request.notes_room(left)
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
            if not (self.turns.taken or self.notes or self.recall.messages or self.shelf.shown.text):
                require_fit({**self.fixed, **self.ending.parts, "format": over + left}, self.request.budget)
            left += self._give_back(over * urgency)
            urgency *= 2

    def _messages(self) -> tuple[Message, ...]:
        """Return the summary, the turns, then the parts of one request, so that the prefix stays the same."""
        shown = [artifacts_message(self.shelf.shown, self.request.wire)] if self.shelf.shown.text else []
        return (*self.notes, *self.turns.messages, *shown, *self.recall.messages, *self.ending.messages)

    def _priced(self) -> int:
        """Return the cost of the window's messages, part by part."""
        beside = self._price_notes(self.notes) + self.shelf.shown.cost + self.recall.cost
        return beside + self.turns.cost + self.ending.cost

    def _give_back(self, tokens: int) -> int:
        """Leave out recall and the oldest turns until so many tokens are free, then artifacts, then notes."""
        freed = self.recall.give_back(tokens)
        freed += self.turns.give_back(tokens - freed)
        if freed < tokens and self.shelf.shown.text:
            freed += self.shelf.drop()
        if freed < tokens:
            freed += self._price_notes(self.notes)
            self.notes = ()
        return freed


def _shown_from(turns: RawTurns, open_turn: Sequence[Message]) -> int | None:
    """Return the first raw message of the window; None if all recallable messages are older."""
    first = turns.first_seq
    return first if first is not None else next((one.seq for one in open_turn), None)
