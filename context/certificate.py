"""Certificate of a window: its parts, the reason for each, and the proof of fit."""

from dataclasses import dataclass


@dataclass(frozen=True)
class Block:
    """One part of a window.

    Attributes:
        source: overhead (added by the model to every request), system_prompt, tools, compaction (the
            provider's), summary, recall, artifact, history or new.
        tokens: Upper bound in the model's tokens.
        origin: The origin, such as `messages 41-60`.
        trust: instructions (the platform's), conversation (the speakers'), notes (derived) or untrusted
            (artifacts, and notes made of text that gave orders).
    """

    source: str
    tokens: int
    origin: str
    trust: str


@dataclass(frozen=True)
class Exclusion:
    """Content left out of the window.

    Attributes:
        what: A name such as `messages 1-40`.
        why: A stable reason.
        tokens: The cost of the content; None if not counted.
    """

    what: str
    why: str
    tokens: int | None


@dataclass(frozen=True)
class Carried:
    """One kind of content that the outgoing format could not carry unchanged.

    Attributes:
        kind: The kind, as in `context.wire.LossKind`.
        why: The outcome for the content.
        seqs: The messages concerned, ascending; 0 for a new message.
    """

    kind: str
    why: str
    seqs: tuple[int, ...]


@dataclass(frozen=True)
class AcceptedShape:
    """Acceptance of the request's shape by the provider, with the changes made for acceptance.

    Attributes:
        accepted: True if the request breaks no rule of the format and the model's family.
        rules: The names of the rules that changed something, in order of use.
        faults: The remaining faults that the provider would refuse, such as a new message's own pictures.
    """

    accepted: bool = True
    rules: tuple[str, ...] = ()
    faults: tuple[str, ...] = ()


ALL_ACCEPTED = AcceptedShape()


@dataclass(frozen=True)
class Certificate:
    """Counts of a window, the limits applied, and the content left out.

    Attributes:
        input_tokens: Upper bound of the whole input, in the model's tokens.
        budget: Upper limit of the input: the window less the output limit, or the caller's lower limit.
        context_window: Tokens of input and output.
        max_tokens: The output limit.
        summary_covers: First and last message covered by the summary.
        tail: First and last raw message.
        tail_contiguous: No message between them is missing.
        tool_pairs_intact: Every call in the window has its result, and every result its call.
        blocks: The parts, in the order of the window; their tokens add up to `input_tokens`.
        excluded: The content left out.
        repairs: The repairs to a history that arrived broken.
        losses: The content that the outgoing format could not carry unchanged.
        accepted_shape: Acceptance of the shape by the provider, with the rules applied.
        history_tokens: Tokens of history: summary, turns, artifacts and recall, without a turn continued by
            the new messages, since such a turn must be sent.
        history_limit: Upper limit of history, if session or tenant name a limit.
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
        """True if the input fits the budget, input with output the window, and history its limit."""
        is_within = self.history_limit is None or self.history_tokens <= self.history_limit
        fills = self.input_tokens + self.max_tokens
        return is_within and self.input_tokens <= self.budget and fills <= self.context_window
