"""Writer of the neutral form as Anthropic messages: alternating roles, the system prompt apart."""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from operator import is_

from context.types import JsonObject, Role
from context.wire.anthropic.blocks import blocks_of, opens_with_compaction, told_blocks
from context.wire.neutral import (
    ConvertedWindow,
    Loss,
    LossKind,
    NeutralEntry,
    NeutralMedia,
    Text,
    dump,
    empty_loss,
    losses_of,
)

_FIRST = {"role": "user", "content": "[The conversation begins with the assistant's words.]"}
_FIELDS = frozenset({"role", "content"})


@dataclass
class _Piece:
    """An outgoing message: its blocks, and its finished text as long as no other piece is merged."""

    role: str
    blocks: list[JsonObject]
    raw: str | None = None


@dataclass
class _Draft:
    """The window during writing."""

    system: list[str] = field(default_factory=list)
    pieces: list[_Piece] = field(default_factory=list)
    losses: list[Loss] = field(default_factory=list)


def write(entries: Sequence[NeutralEntry]) -> ConvertedWindow:
    """Write paired and ordered entries; a native message stays as stored unless merged."""
    draft = _Draft()
    for entry in entries:
        draft.losses += losses_of(entry)
        if entry.native is not None:
            _add_native(draft, entry)
        elif entry.role is Role.SYSTEM:
            _add_system(draft, entry)
        else:
            role = "assistant" if entry.role is Role.ASSISTANT else "user"
            _add(draft, _Piece(role, blocks_of(entry, draft.losses)), entry)
    _lift_misplaced(draft, entries[0].seq if entries else 0)
    items = [_item(piece) for piece in draft.pieces]
    first = _spoken(draft.pieces)
    if first and first.role == "assistant" and not opens_with_compaction(first.blocks):
        items.insert(0, dump(_FIRST))
        draft.losses.append(
            Loss(entries[0].seq, LossKind.ORDER, "a user's note was put first: a user must begin")
        )
    return ConvertedWindow(tuple(items), "\n\n".join(draft.system) or None, tuple(draft.losses))


def _lift_misplaced(draft: _Draft, seq: int) -> None:
    """Move system messages to the prompt, except between a user and the assistant, or at the end."""
    roles = ["", *(piece.role for piece in draft.pieces), "assistant"]
    around = zip(draft.pieces, roles, roles[2:], strict=False)
    misplaced = [
        piece
        for piece, before, after in around
        if piece.role == "system" and (before != "user" or after != "assistant")
    ]
    if misplaced:
        draft.system += [text for piece in misplaced if (text := _words(piece))]
        draft.pieces = [piece for piece in draft.pieces if piece not in misplaced]
        draft.losses.append(Loss(seq, *_JOINED))


def _words(piece: _Piece) -> str:
    return "\n\n".join(str(block.get("text") or "") for block in piece.blocks).strip()


_JOINED = (LossKind.ORDER, "a later system message joined the system prompt")


def _add_system(draft: _Draft, entry: NeutralEntry) -> None:
    texts = [part.text for part in entry.parts if isinstance(part, Text) and part.text.strip()]
    draft.system += texts
    if texts and draft.pieces:
        draft.losses.append(Loss(entry.seq, *_JOINED))
    if any(isinstance(part, NeutralMedia) for part in entry.parts):
        draft.losses.append(Loss(entry.seq, LossKind.CONTENT, "a system prompt takes text only"))


def _add_native(draft: _Draft, entry: NeutralEntry) -> None:
    """Add a stored message, without refused content: other fields, words before a tool's results."""
    native = entry.native
    if native is None:
        return
    body = native.body
    extra = [key[:40] for key in body if key not in _FIELDS]
    if extra:
        draft.losses.append(Loss(entry.seq, LossKind.FIELDS, f"has no place for {', '.join(extra[:6])}"))
    stored = told_blocks(body["content"])
    is_cut = not isinstance(body["content"], str) and not _same(stored, body["content"])
    if is_cut and stored:
        draft.losses.append(Loss(entry.seq, LossKind.EMPTY, "a blank text was left out"))
    ordered = _results_first(stored) if body["role"] == "user" else stored
    is_moved = not _same(stored, ordered)
    if is_moved:
        draft.losses.append(Loss(entry.seq, LossKind.ORDER, "a tool's results were put before other words"))
    blocks = _renamed(ordered, dict(entry.renames))
    raw = native.raw
    if extra or entry.renames or is_moved or is_cut:
        content = blocks if entry.renames or is_moved or is_cut else body["content"]
        raw = dump({"role": body["role"], "content": content})
    _add(draft, _Piece(body["role"], blocks, raw), entry)


def _same(blocks: Sequence[JsonObject], others: Sequence[JsonObject]) -> bool:
    return len(blocks) == len(others) and all(map(is_, blocks, others))


def _renamed(blocks: list[JsonObject], names: dict[str, str]) -> list[JsonObject]:
    if not names:
        return blocks
    return [
        {
            key: names.get(value, value) if key in {"id", "tool_use_id"} else value
            for key, value in block.items()
        }
        for block in blocks
    ]


def _add(draft: _Draft, piece: _Piece, entry: NeutralEntry) -> None:
    """Append a piece, or merge with the previous piece of the same role.

    Roles alternate across system messages: merged content moves before the system message.
    """
    system = piece.role == "system"
    last = next(reversed(draft.pieces), None) if system else _spoken(reversed(draft.pieces))
    if not piece.blocks:
        draft.losses += empty_loss([entry])
    elif last is not None and last.role == piece.role:
        last.blocks = _results_first(last.blocks + piece.blocks)
        last.raw = None
        if last is not draft.pieces[-1]:
            between = [each for each in draft.pieces if each.role == "system"][-1]
            draft.system.append(_words(between))
            draft.pieces.remove(between)
            draft.losses.append(Loss(entry.seq, *_JOINED))
    else:
        draft.pieces.append(piece)


def _spoken(pieces: Iterable[_Piece]) -> _Piece | None:
    """Find the first piece of a user or the assistant."""
    return next((piece for piece in pieces if piece.role != "system"), None)


def _results_first(blocks: list[JsonObject]) -> list[JsonObject]:
    """Put tool results first, as required; an assistant's blocks have no results."""
    return sorted(blocks, key=lambda block: block["type"] != "tool_result")


def _item(piece: _Piece) -> str:
    if piece.raw is not None:
        return piece.raw
    only = piece.blocks[0] if len(piece.blocks) == 1 else {}
    plain = only.get("text") if set(only) == {"type", "text"} else None
    return dump({"role": piece.role, "content": plain or piece.blocks})
