"""The certificate: what a window holds, why, and the proof that it fits."""

from dataclasses import dataclass


@dataclass(frozen=True)
class Block:
    """One part of a window.

    Attributes:
        source: overhead (what the model adds to every request), system_prompt, tools, summary, recall,
            artifact, history or new.
        tokens: Its bound in the model's tokens.
        origin: Where it comes from, such as `messages 41-60`.
        trust: instructions (the platform's), conversation (its speakers'), notes (derived) or untrusted
            (artifacts, and notes made of what gave orders).
    """

    source: str
    tokens: int
    origin: str
    trust: str


@dataclass(frozen=True)
class Exclusion:
    """Something that the window does not hold.

    Attributes:
        what: Such as `messages 1-40`.
        why: A stable reason.
        tokens: What it would have cost; None where that was not counted.
    """

    what: str
    why: str
    tokens: int | None


@dataclass(frozen=True)
class Carried:
    """One kind of thing that the outgoing format could not carry as it was.

    Attributes:
        kind: What it is, as in `context.wire.LossKind`.
        why: What became of it.
        seqs: The messages concerned, ascending; 0 for a new one.
    """

    kind: str
    why: str
    seqs: tuple[int, ...]


@dataclass(frozen=True)
class AcceptedShape:
    """Whether the provider takes the shape of what is sent, and what was done for that.

    Attributes:
        accepted: Whether no rule of the format and the model's family is broken.
        rules: The names of the rules that changed something, in their order.
        faults: What would be refused all the same, such as a new message's own pictures.
    """

    accepted: bool = True
    rules: tuple[str, ...] = ()
    faults: tuple[str, ...] = ()


ALL_ACCEPTED = AcceptedShape()


@dataclass(frozen=True)
class Certificate:
    """What was counted, what it was held against, and what was left out.

    Attributes:
        input_tokens: The bound of everything sent, in the model's tokens.
        budget: The most that may be sent: the window less the output limit, or the caller's lower limit.
        context_window: Tokens of input and output.
        max_tokens: The output limit.
        summary_covers: First and last message that the summary stands for.
        tail: First and last raw message.
        tail_contiguous: No message between them is missing.
        tool_pairs_intact: Every call in the window has its result, and every result its call.
        blocks: The parts, in the order of the window; their tokens add up to `input_tokens`.
        excluded: What was left out.
        repairs: What had to be mended in a history that arrived broken.
        losses: What the outgoing format could not carry as it was.
        accepted_shape: Whether the provider takes the shape, and which rules were applied for that.
        history_tokens: What history takes: summary, turns, artifacts and recall, without a turn that must
            be sent because the new messages go on with it.
        history_limit: The most that it might take, where session or tenant say so.
    """

    input_tokens: int
    budget: int
    context_window: int
    max_tokens: int
    summary_covers: tuple[int, int] | None
    tail: tuple[int, int] | None
    tail_contiguous: bool
    tool_pairs_intact: bool
    blocks: tuple[Block, ...]
    excluded: tuple[Exclusion, ...] = ()
    repairs: tuple[str, ...] = ()
    losses: tuple[Carried, ...] = ()
    accepted_shape: AcceptedShape = ALL_ACCEPTED
    history_tokens: int = 0
    history_limit: int | None = None

    @property
    def fits(self) -> bool:
        """Whether the input fits its budget, with the output the window, and history its limit."""
        is_within = self.history_limit is None or self.history_tokens <= self.history_limit
        fills = self.input_tokens + self.max_tokens
        return is_within and self.input_tokens <= self.budget and fills <= self.context_window
