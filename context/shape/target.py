"""Target of a window: the format, the family of the model, and the limits of both."""

import re
from dataclasses import dataclass, replace
from functools import cached_property, lru_cache

from context.providers.model_windows import is_bedrock_id, model_ids
from context.tokens.families import ModelFamily, family_of, wants_letter_first
from context.types import Wire
from context.wire.format import Format
from context.wire.formats import format_of

MB = 1_000_000

CHAT_PARTS = frozenset({"text", "refusal", "image_url", "input_audio", "file"})
_ANY_LENGTH = 100_000


@dataclass(frozen=True)
class RequestLimits:
    """Limits of a request beside its tokens; None for no known limit.

    Attributes:
        images: Number of images.
        many: Number of images above which `many_side` replaces `side`.
        many_side: Pixels of the longer side of each image among many.
        side: Pixels of the longer side of an image.
        image_chars: Base64 characters of an image.
        request_bytes: Bytes of the whole request.
        types: Media types of an embedded image.
    """

    images: int | None = None
    many: int | None = None
    many_side: int | None = None
    side: int | None = None
    image_chars: int | None = None
    request_bytes: int | None = None
    types: frozenset[str] | None = None


@dataclass(frozen=True)
class Target:
    """A format and a model, with the rules for both together.

    Attributes:
        wire: The format.
        model: The model's name as given.
        family: The model's family.
        maker: Maker of accepted signatures: the family, or the model's own kind.
        host: The model's host, if part of the name.
        limits: Number and size of images, size of the request.
    """

    wire: Wire
    model: str
    family: ModelFamily
    maker: str
    host: str
    limits: RequestLimits

    def __hash__(self) -> int:
        """Hash the names alone; the rest follows from them."""
        return hash((self.wire, self.model))

    @cached_property
    def form(self) -> Format:
        """The format's facts and functions."""
        return format_of(self.wire)

    @cached_property
    def is_strict(self) -> bool:
        """True if the chat template requires alternating users and assistants."""
        return self.form.is_chat and (self.family is ModelFamily.MISTRAL or self._named("gemma"))

    @cached_property
    def calls_after_users(self) -> bool:
        """True if a user speaks first, and calls follow a user's words or a result at once."""
        return self.form.is_chat and self.family is ModelFamily.GOOGLE

    @cached_property
    def leads_with_system(self) -> bool:
        """True if only a system message at the start is accepted, or the last of several alone is read."""
        return self.form.is_chat and (self.is_strict or self.family in _ONE_SYSTEM_MESSAGE)

    @cached_property
    def takes_system_inside(self) -> bool:
        """True if Anthropic's format allows system messages among the others for the model."""
        return self.host not in {"bedrock", "vertex_ai", "vertex"} and self._named(
            r"opus-4[-.](?:[89]|\d\d)|claude-(?:[a-z]+-)?[5-9]"
        )

    @cached_property
    def refuses_prefill(self) -> bool:
        """True if the last message must not be the assistant's."""
        if self.family is ModelFamily.ANTHROPIC:
            return self._named(r"-4[-.](?:[6-9]|\d\d)|claude-(?:[a-z]+-)?[5-9]\b|mythos|fable")
        return self.family is ModelFamily.DEEPSEEK

    @cached_property
    def checks_signatures(self) -> bool:
        """True if thinking without its signature is refused."""
        return self.family is ModelFamily.ANTHROPIC

    @cached_property
    def takes_unknown_arguments(self) -> bool:
        """True if a call's arguments may be text other than a JSON object."""
        return self.family is ModelFamily.OPENAI

    @cached_property
    def takes_legacy_calls(self) -> bool:
        """True if a message may call by `function_call`, and the role `function` may answer."""
        return not self.form.is_chat or self.family is ModelFamily.OPENAI

    @cached_property
    def takes_marks(self) -> bool:
        """True if chat messages may have cache marks, as Anthropic's do."""
        return self.form.has_cache_marks or self.family not in _WITHOUT_MARKS

    @cached_property
    def takes_addresses(self) -> bool:
        """True if a picture's address may stand alone, without an object around."""
        return self.family is ModelFamily.MISTRAL

    @cached_property
    def shows_own_pictures(self) -> bool:
        """True if an assistant's message may contain a picture or another file."""
        return self.form.is_chat and self.family not in _WORDS_ALONE

    def shows_pictures_of(self, role: object) -> bool:
        """Tell whether a chat message of a role may contain a picture or another file; a tool's is apart."""
        is_own = role == "assistant" or (role in {"system", "developer"} and not self.leads_with_system)
        return not is_own or self.shows_own_pictures

    @cached_property
    def takes_tool_pictures(self) -> bool:
        """True if a tool's result may contain a picture or another file."""
        return not self.form.is_chat or (self.family in _READ_TOOL_PICTURES and self.maker != "gemma")

    def fit_name(self, name: str) -> str:
        """Adapt a tool's name to the format and the model; a valid name stays."""
        return self.form.fit_name(name, letter_first=wants_letter_first(self.model))

    @cached_property
    def known_fields(self) -> frozenset[str] | None:
        """Fields of a chat message, if the provider refuses others."""
        if self.family is ModelFamily.MISTRAL:
            return _FIELDS | {"prefix"}
        if self.host in {"groq", "cerebras"}:
            return _FIELDS | {"reasoning", "function_call"}
        return _FIELDS | _OF_OPENAI | self._reasoning if self.family is ModelFamily.OPENAI else None

    @property
    def _reasoning(self) -> frozenset[str]:
        """Fields of reasoning that a gateway or a server of open models reads; OpenAI itself knows none."""
        if self._named("gpt-oss"):
            return frozenset({"reasoning", "reasoning_content", "reasoning_details"})
        of_gateway = {"reasoning", "reasoning_details", "thinking_blocks", "provider_specific_fields"}
        return frozenset(of_gateway if "/" in self.model else ())

    @cached_property
    def parts(self) -> frozenset[str]:
        """Kinds of chat parts accepted by the target; others are for other providers."""
        extra = {part for part, pattern in _OWN_PARTS if re.search(pattern, self.model.lower())}
        known = CHAT_PARTS
        if self.family is not ModelFamily.OTHER and not self._named(_HEARING):
            known -= {"input_audio"}
        if self._named(_NO_IMAGES):
            known -= {"file", "input_audio"}
        return known | extra

    @cached_property
    def id_length(self) -> int:
        """The longest call id."""
        if self._named("kimi|moonshot") or (self.family is ModelFamily.GOOGLE and self.form.is_chat):
            return _ANY_LENGTH
        if self.form.is_chat and self.family is ModelFamily.MISTRAL:
            return 9
        of = format_of(Wire.ANTHROPIC) if self.family is ModelFamily.ANTHROPIC else self.form
        return of.limits.id_chars

    @cached_property
    def id_pattern(self) -> re.Pattern[str]:
        """Pattern of a valid call id."""
        if self.form.is_chat and self.family is ModelFamily.MISTRAL:
            return _MISTRAL_ID
        strict = (
            self.form.limits.has_plain_ids or self.family is ModelFamily.ANTHROPIC or self.host == "bedrock"
        )
        return _LETTERS if strict else _ANYTHING

    def takes_id(self, call_id: str) -> bool:
        """Tell whether a call may have the id."""
        if SIGNED_ID in call_id and self.maker != ModelFamily.GOOGLE:
            return False
        return len(call_id) <= self.id_length and self.id_pattern.fullmatch(call_id) is not None

    def made(self, model: str | None) -> bool:
        """Tell whether a model's signatures may go to the target; an unknown model's may."""
        return model is None or maker_of(model) == self.maker

    def reads_compaction(self, wire: Wire, model: str | None) -> bool:
        """Tell whether a stored compaction may go to the target; one of an unknown model is its format's."""
        maker = maker_of(model) if model else format_of(wire).compaction_maker
        return wire is self.wire and maker == self.maker

    def _named(self, pattern: str) -> bool:
        return re.search(pattern, self.model.lower()) is not None


SIGNED_ID = "__thought__"
"""Sign before a thought signature that a gateway keeps in the id of a call."""

_FIELDS = frozenset({"role", "content", "tool_calls", "tool_call_id", "name"})
_OF_OPENAI = frozenset({"refusal", "audio", "annotations", "function_call"})
"""Further fields of a message of OpenAI's models."""

_ONE_SYSTEM_MESSAGE = frozenset({ModelFamily.QWEN, ModelFamily.GOOGLE})
_WITHOUT_MARKS = frozenset(
    {ModelFamily.OPENAI, ModelFamily.MISTRAL, ModelFamily.DEEPSEEK, ModelFamily.XAI, ModelFamily.META}
)
_WORDS_ALONE = frozenset(
    {ModelFamily.OPENAI, ModelFamily.MISTRAL, ModelFamily.DEEPSEEK, ModelFamily.ANTHROPIC}
)
_READ_TOOL_PICTURES = frozenset(
    {ModelFamily.ANTHROPIC, ModelFamily.GOOGLE, ModelFamily.MISTRAL, ModelFamily.OTHER}
)
_HEARING = r"audio|realtime|omni|gemini|gemma-?3n|voxtral|ultravox"
"""Models of known families that take sounds."""
_MISTRAL_ID = re.compile(r"[a-zA-Z0-9]{9}")
_LETTERS = re.compile(r"[a-zA-Z0-9_-]+")
_ANYTHING = re.compile(r".+", re.DOTALL)
_OWN_PARTS = (
    ("document_url", r"istral|pixtral|ocr"),
    ("reference", r"istral|pixtral"),
    ("thinking", r"istral"),
    ("video_url", r"qwen|qvq|glm|kimi|gemini|nova|seed|doubao|minicpm|internvl"),
    ("audio_url", r"qwen|omni|ultravox|gemini|minicpm"),
    ("file_url", r"glm"),
    ("document", r"claude|anthropic"),
    ("video", r"qwen|qvq"),
    ("audio", r"qwen"),
    ("image", r"qwen|qvq"),
)
"""Chat parts accepted by a few providers beside OpenAI's parts."""

OWN_PARTS = frozenset(kind for kind, _ in _OWN_PARTS) | {"redacted_thinking"}
"""Kinds of chat parts of a few providers."""


@lru_cache(maxsize=1_024)
def target_of(wire: Wire, model: str, most_images: int | None = None) -> Target:
    """Find the rules for a model in a format.

    Args:
        wire: The format.
        model: The model's name at any host.
        most_images: Largest number of images that was not refused; None if none was refused.
    """
    if most_images is not None:
        known = target_of(wire, model)
        images = min(most_images, known.limits.images or most_images)
        return replace(known, limits=replace(known.limits, images=images))
    family, host = family_of(model), model.strip().lower().partition("/")[0]
    host = host if "/" in model else ""
    if is_bedrock_id(model):
        host = "bedrock"
    return Target(wire, model, family, maker_of(model), host, _limits(family, host, model.lower()))


@lru_cache(maxsize=1_024)
def maker_of(model: str) -> str:
    """Name the maker of a model's signatures: the family, or models of a similar name."""
    family, name = family_of(model), model_ids(model)[-1].rpartition("/")[2]
    if family is not ModelFamily.OTHER and not name.startswith("gemma"):
        return family.value
    found = re.match(r"[a-z]+", name)
    return found[0] if found else name


def _limits(family: ModelFamily, host: str, name: str) -> RequestLimits:
    if re.search(_NO_IMAGES, name):
        return RequestLimits(images=0)
    if host == "groq":
        return RequestLimits(images=5, request_bytes=20 * MB, types=_USUAL_TYPES)
    if family is ModelFamily.ANTHROPIC:
        return _claude(host, name)
    limits = _LIMITS.get(family, RequestLimits())
    if host == "azure" and family is ModelFamily.OPENAI:
        return replace(limits, images=50)
    if host == "bedrock":
        return RequestLimits(limits.images, request_bytes=20 * MB, types=_USUAL_TYPES)
    return limits


def _claude(host: str, name: str) -> RequestLimits:
    is_wide = re.search(r"-4[-.](?:[6-9]|\d\d)|claude-(?:[a-z]+-)?[5-9]\b", name) is not None
    images = 20 if host == "bedrock" else 600 if is_wide else 100
    size = {"bedrock": 20, "vertex_ai": 30, "vertex": 30}.get(host, 32) * MB
    chars = 5 * 1_024 * 1_024
    return RequestLimits(images, 20, 2_000, 8_000, chars, request_bytes=size, types=_USUAL_TYPES)


_NO_IMAGES = r"deepseek(?!.*(?:vl|ocr))|gpt-3\.5|\bo1-mini|\bo3-mini"
"""Models for text only."""

_USUAL_TYPES = frozenset({"image/png", "image/jpeg", "image/jpg", "image/gif", "image/webp"})
_GOOGLES_TYPES = _USUAL_TYPES - {"image/gif"} | {"image/heic", "image/heif"}

_LIMITS = {
    ModelFamily.OPENAI: RequestLimits(images=500, request_bytes=50 * MB, types=_USUAL_TYPES),
    ModelFamily.GOOGLE: RequestLimits(images=3_600, request_bytes=20 * MB, types=_GOOGLES_TYPES),
    ModelFamily.MISTRAL: RequestLimits(images=8, image_chars=14 * MB, types=_USUAL_TYPES),
    ModelFamily.AMAZON: RequestLimits(request_bytes=25 * MB, types=_USUAL_TYPES),
    ModelFamily.QWEN: RequestLimits(image_chars=10 * MB),
    ModelFamily.XAI: RequestLimits(image_chars=27 * MB, types=_USUAL_TYPES - {"image/gif", "image/webp"}),
}
