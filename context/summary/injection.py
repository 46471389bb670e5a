# ruff: noqa: RUF001 - words in several scripts
"""Orders to a model inside tool results; a summary of such results always carries a mark."""

import re
import unicodedata
from collections.abc import Iterable

from context.conversation.transcript import LineKind, RenderedLine

_FEW = r"(?:[\s,]+[\w'’-]+){0,4}?[\s,]+"
"""Up to four words between two others."""
_MODEL = r"(?:an?\s+|the\s+|any\s+)?(?:ai|llm|language model|ai assistant|ai agent|assistant|chatbot)s?\b"

_TAKE_BACK = {
    ("ignor", "disregard", "forget", "overrid", "bypass", "follow"): (
        rf"\b(?:ignor|disregard|forget|overrid|bypass|do not follow|stop following)\w*\b{_FEW}"
        rf"(?:all|any|previous|prior|earlier|above|preceding|foregoing|existing|original|system|your)\b{_FEW}"
        r"(?:instruction|prompt|rule|guideline|command|directive|order)s?\b"
    ),
    ("anweisung", "vorgabe", "regel", "instruktion", "befehl"): (
        rf"\b(?:ignor|missacht|vergiss|vergesst|vergessen)\w*\b{_FEW}"
        rf"(?:alle|vorherig|bisherig|vorig|obig|früher|deine|ihre)\w*\b{_FEW}"
        r"(?:anweisung|vorgabe|regel|instruktion|befehl)\w*"
    ),
    ("instructions", "consignes", "règles", "directives"): (
        rf"\b(?:ignor|oubli)\w*\b{_FEW}(?:instructions|consignes|règles|directives)\b{_FEW}"
        r"(?:précédent|antérieur|ci-dessus|initial)\w*"
    ),
    ("instrucciones", "instruções", "istruzioni", "reglas", "regras", "regole"): (
        rf"\b(?:ignor|olvid|esque[cç]|dimentic)\w*\b{_FEW}"
        rf"(?:instrucciones|instruções|istruzioni|reglas|regras|regole)\b{_FEW}"
        r"(?:anterior|previ|precedent|original)\w*"
    ),
    ("игнориру", "забудь", "забыть", "отмени"): (
        r"(?:игнориру|забудь|забыть|отмени)\w*(?:\s+\w+){0,3}\s+(?:инструкц|указани|правил|команд)\w+"
    ),
    ("忽略", "无视", "無視", "忘记", "忘記", "忽視"): (
        r"(?:忽略|无视|無視|忘记|忘記|忽視).{0,12}?(?:指令|指示|提示词|提示詞|规则|規則)"
    ),
    ("指示", "命令", "プロンプト", "ルール"): (r"(?:指示|命令|プロンプト|ルール).{0,6}?(?:無視|忘れ)"),
    ("지시", "명령", "지침"): r"(?:지시|명령|지침).{0,8}?(?:무시|잊)",
}
"""Phrases that revoke a model's earlier instructions, in some languages."""

_BECOME = {
    ("you are now",): (
        r"\byou are now\s+(?:an?|the|my|in)?\s*(?:[\w-]+\s+){0,3}?"
        rf"(?:{_MODEL}|dan\b|developer mode|admin mode|jailbroken|unrestricted)"
    ),
    ("from now on",): (
        r"\bfrom now on,? you(?:\s+(?:are|will|must|shall|should|act|respond|answer|only)\b|['’]ll\b)"
    ),
}
"""The model is to be somebody else."""

_HIDE = {
    ("the user",): (
        r"\b(?:do not|don['’]t|never|without)\s+(?:tell|inform|notify|alert|warn|mention|reveal)(?:ing)?\b"
        r"[^.\n]{0,40}?\bthe user\b"
    ),
    ("prompt", "instruction"): (
        rf"\b(?:reveal|print|repeat|output|leak|send|show|disclose)\b{_FEW}"
        r"(?:your|the)\s+(?:system|initial|hidden|original)\s+(?:prompt|instructions?)\b"
    ),
}
"""Something is to be kept from the user, or given away."""

_ADDRESS = {
    ("before you",): (
        r"\bbefore you (?:can |could |may |begin to |start to )?"
        r"(?:solve|answer|complete|do|finish|continue|proceed)\b[^.\n]{0,80}?"
        r"\b(?:must|need to|have to|should|please|required to)\b"
    ),
    ("attention", "note to", "message ", "instruction", "dear", "hey", "hello"): (
        rf"\b(?:attention|note to|message (?:to|for)|instructions? (?:to|for)|dear|hey|hello)[\s,:]+{_MODEL}"
    ),
    ("if you are",): rf"\bif you are\s+{_MODEL}",
    ("instructions:", "instruction:", "override:", "prompt:"): (
        r"\b(?:new|updated|important|urgent|system|admin|developer)\s+(?:system\s+)?"
        r"(?:instructions?|override|prompt):"
    ),
}
"""Phrases that address the model by name, or replace its task."""

_SIGNS = {
    ("|",): r"(?:<|&lt;)\s*\|\s*(?:im_start|im_end|system|user|assistant|endoftext|start_header_id)",
    ("sys>>", "inst]"): r"(?:<|&lt;){2}\s*/?\s*sys>>|\[/?inst\]",
    ("<", "&lt;"): (
        r"(?:<|&lt;)\s*/?\s*"
        r"(?:system|assistant|system[_-]prompt|conversation_summary|transcript|previous_summary)\s*>"
    ),
}
"""The text plays a part of the window."""

_ORDERS = tuple(
    (words, re.compile(pattern))
    for group in (_TAKE_BACK, _BECOME, _HIDE, _ADDRESS, _SIGNS)
    for words, pattern in group.items()
)
"""Patterns, each with trigger words: a search for the words costs next to nothing."""

_INVISIBLE = re.compile("[\u00ad\u200b-\u200f\u202a-\u202e\u2060-\u2064\ufeff\U000e0000-\U000e007f]")


def gives_orders(text: str) -> bool:
    """Tell whether a text that should only inform gives a model orders.

    Only plain signs are found: known phrases in some languages, signs of chat templates, a model addressed by
    name. An order in other words passes, so a text without the mark deserves no more trust than before.

    Args:
        text: Text of unknown origin.

    Returns:
        True if such a phrase is found, invisible characters and other forms of letters aside.
    """
    plain = _INVISIBLE.sub("", unicodedata.normalize("NFKC", text)).casefold()
    return any(pattern.search(plain) for words, pattern in _ORDERS if any(word in plain for word in words))


def is_tainted(lines: Iterable[RenderedLine]) -> bool:
    """Tell whether a tool result gives orders; people may say anything.

    Args:
        lines: A transcript.

    Returns:
        True if an outcome of a call gives orders.
    """
    return any(line.kind is LineKind.RESULT and gives_orders(line.text) for line in lines)
