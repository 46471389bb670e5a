"""Names of the shape rules: refusals by providers, and the changes made before sending."""

from enum import StrEnum


class Rule(StrEnum):
    """A rule with an effect on outgoing messages; the certificate names the applied rules.

    `docs/reference/provider-shapes.md` lists the affected providers and the source of each rule.
    """

    EMPTY_CALLS = "empty-tool-calls"
    EMPTY_CONTENT = "empty-content"
    EMPTY_TEXT = "empty-text-part"
    CACHE_MARKS = "stored-cache-marks"
    UNSIGNED_THINKING = "unsigned-thinking"
    TRAILING_THINKING = "trailing-thinking"
    FOREIGN_REASONING = "reasoning-of-another-family"
    SPENT_REASONING = "reasoning-of-earlier-answers"
    REFUSED_REASONING = "reasoning-that-was-refused"
    CALL_ID = "call-id"
    ITEM_ID = "item-id"
    TOOL_NAME = "tool-name"
    MESSAGE_NAME = "message-name"
    CALL_SHAPE = "call-shape"
    ARGUMENTS = "call-arguments"
    KNOWN_FIELDS = "known-fields"
    PART_KIND = "part-kind"
    DEVELOPER_ROLE = "developer-role"
    SYSTEM_ITEM = "system-inside-history"
    ALTERNATING_ROLES = "alternating-roles"
    USER_AFTER_TOOL = "user-after-tool"
    TRAILING_ASSISTANT = "trailing-assistant"
    IMAGE_NUMBER = "image-number"
    IMAGE_SIZE = "image-size"
    REQUEST_BYTES = "request-bytes"
