# ruff: noqa: E501, RUF001 - words in several scripts
"""Orders to a model inside tool results; a summary of such results always carries a mark."""

import re
import unicodedata
from collections.abc import Iterable, Mapping

from context.conversation.transcript import LineKind, RenderedLine

_Phrases = Mapping[tuple[str, ...], str]
_FEW = r"(?:[\s,]+[\w'’-]+){0,4}?[\s,]+"
"""Up to four words between two others."""
_MODEL = r"(?:an?\s+|the\s+|any\s+)?(?:ai|llm|language model|ai assistant|ai agent|assistant|chatbot)s?\b"

_TAKE_BACK: _Phrases = {
    ("ignor", "disregard", "forget", "overrid", "bypass", "follow", "attention"): (
        rf"\b(?:ignor|disregard|forget|overrid|bypass|do not follow|stop following|pay no attention to)\w*\b{_FEW}"
        rf"(?:all|any|every|each|previous|prior|earlier|above|preceding|foregoing|existing|original|system|your|initial)\b{_FEW}"
        r"(?:instruction|prompt|rule|guideline|command|directive|order|polic(?:y|ie))s?\b"
    ),
    ("ignor", "disregard", "forget", "overrid"): (
        r"\b(?:ignor|disregard|forget|overrid)\w*\s+(?:about\s+)?(?:everything|anything|all|whatever|what|the (?:instruction|rule|guideline|prompt|order)s?)\s+"
        r"(?:of\s+)?(?:that\s+)?(?:you\s*(?:were|are|have been|['’]ve been|had been)\s+(?:\w+\s+)?(?:told|given|instructed|taught|trained)|(?:from\s+)?above|before (?:this|that|now))"
    ),
    ("anweisung", "vorgabe", "regel", "instruktion", "befehl"): (
        rf"\b(?:ignor|missacht|vergiss|vergesst|vergessen)\w*\b{_FEW}"
        rf"(?:alle|sämtlich|jede|vorherig|bisherig|vorig|obig|früher|vorangegangen|deine|ihre)\w*\b{_FEW}"
        r"(?:anweisung|vorgabe|regel|instruktion|befehl)\w*"
    ),
    ("instructions", "consignes", "règles", "directives"): (
        rf"\b(?:ignor|oubli|(?:ne )?(?:tiens|tenez) (?:pas|aucun) compte|fai(?:s|tes) abstraction)\w*\b{_FEW}"
        rf"(?:instructions|consignes|règles|directives)\b(?:{_FEW}(?:précédent|antérieur|ci-dessus|initial)\w*|\s+(?:que|qui|reçues|données))"
    ),
    (
        "oubli",
        "ignor",
    ): r"\b(?:oubli|ignor)\w*\s+toutes\s+(?:les|tes|vos)\s+(?:instructions|consignes|règles|directives)\b",
    ("instrucciones", "instruções", "istruzioni", "reglas", "regras", "regole", "órdenes", "ordens"): (
        rf"\b(?:ignor|olvid|caso omiso|esque[cç]|desconsider|dimentic|non (?:tenere|tener) conto)\w*\b{_FEW}"
        rf"(?:instrucciones|instruções|istruzioni|reglas|regras|regole|órdenes|ordens)\b{_FEW}"
        r"(?:anterior|previ|precedent|original|acima|arriba|sopra)\w*"
    ),
    ("todas", "todos", "tutte"): (
        r"\b(?:ignor|olvid|esque[cç]|desconsider|dimentic)\w*\s+(?:todas|todos|tutte)\s+(?:las|as|le|tus|suas|tue|sus)\s+"
        r"(?:instrucciones|instruções|istruzioni|reglas|regras|regole)\b"
    ),
    ("instructies", "regels", "opdrachten", "aanwijzingen"): (
        rf"\b(?:negeer|vergeet|negeert)\b{_FEW}(?:alle|eerdere|vorige|bovenstaande|je|uw)\b(?:{_FEW}|\s+)(?:instructies|regels|opdrachten|aanwijzingen)\b"
    ),
    ("polece", "instrukcj", "zasad", "reguł", "wytyczn"): (
        r"\b(?:zignoruj|ignoruj|zapomnij|pomiń)\w*(?:\s+\w+){0,4}\s+(?:polece|instrukcj|zasad|reguł|wytyczn)\w*"
    ),
    (
        "pokyn",
        "instrukc",
        "pravid",
    ): r"\b(?:ignoruj|zapomeň|zapomeňte)\w*(?:\s+\w+){0,4}\s+(?:pokyn|instrukc|pravid)\w*",
    ("talimat", "kural", "yönerge", "komut"): (
        r"(?:talimat|kural|yönerge|komut)\w*(?:\s+\w+){0,2}\s+(?:yok say|unut|görmezden|dikkate alma|boş ver)\w*"
    ),
    ("instruktion", "instruks", "regler", "anvisning"): (
        r"\b(?:ignorera?|ignorér|glöm|glem|bortse)\w*(?:\s+\w+){0,4}\s+(?:instruktion|instruks|regler|anvisning)\w*"
    ),
    ("instruksi", "perintah", "aturan", "arahan"): (
        r"\b(?:abaikan|lupakan)(?:\s+\w+){0,3}\s+(?:instruksi|perintah|aturan|arahan)\b"
    ),
    ("hướng dẫn", "chỉ dẫn", "chỉ thị", "quy tắc"): (
        r"(?:bỏ qua|phớt lờ|quên)(?:\s+\w+){0,3}\s+(?:hướng dẫn|chỉ dẫn|chỉ thị|quy tắc)"
    ),
    ("instrucțiun", "ohjee", "ohjei", "utasítás"): (
        r"\b(?:ignoră|ignorați|uită)\b(?:\s+\w+){0,3}\s+instrucțiun\w*|\b(?:unohda|ohita)\b(?:\s+\w+){0,3}\s+ohje\w*"
        r"|\b(?:hagyd figyelmen kívül|felejtsd el)(?:\s+\w+){0,4}\s+utasítás\w*"
    ),
    ("игнориру", "забудь", "забыть", "отмени", "ігнору", "забудьте", "відкинь"): (
        r"(?:игнориру|забудь|забыть|отмени|ігнору|відкинь)\w*(?:\s+\w+){0,3}\s+(?:инструкц|указани|правил|команд|інструкці|вказівк)\w+"
    ),
    ("忽略", "无视", "無視", "忘记", "忘記", "忽視"): (
        r"(?:忽略|无视|無視|忘记|忘記|忽視).{0,12}?(?:指令|指示|提示词|提示詞|规则|規則)"
    ),
    ("指示", "命令", "プロンプト", "ルール"): (r"(?:指示|命令|プロンプト|ルール).{0,8}?(?:無視|忘れ)"),
    ("지시", "명령", "지침", "규칙"): r"(?:지시|명령|지침|규칙).{0,8}?(?:무시|잊)",
    ("تعليمات", "أوامر", "قواعد", "إرشادات"): (
        r"(?:تجاهل|انس|أهمل|اهمل)\w*(?:\s+\w+){0,2}\s+(?:ال)?(?:تعليمات|أوامر|قواعد|إرشادات)"
    ),
    ("הוראות", "הנחיות", "כללים", "פקודות"): (
        r"(?:התעלם|תתעלם|התעלמי|שכח|תשכח)(?:\s+\w+){0,2}\s+\w{0,3}(?:הוראות|הנחיות|כללים|פקודות)"
    ),
    ("निर्देश", "नियम", "आदेश"): r"(?:निर्देश|नियम|आदेश).{0,20}?(?:अनदेखा|नज़रअंदाज़|नजरअंदाज|भूल|उपेक्षा)",
}
"""Phrases that revoke a model's earlier instructions, in some languages."""

_BECOME: _Phrases = {
    ("you are now",): (
        r"\byou are now\s+(?:an?|the|my|in)?\s*(?:[\w-]+\s+){0,3}?"
        rf"(?:{_MODEL}|dan\b|developer mode|admin mode|jailbroken|unrestricted)"
    ),
    ("from now on",): (
        r"\bfrom now on,? you(?:\s+(?:are|will|must|shall|should|act|respond|answer|only)\b|['’]ll\b)"
    ),
}
"""The model is to be somebody else."""

_HIDE: _Phrases = {
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

_ADDRESS: _Phrases = {
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

_SIGNS: _Phrases = {
    ("|",): r"(?:<|&lt;)\s*\|\s*(?:im_start|im_end|system|user|assistant|endoftext|start_header_id)",
    ("sys>>", "inst]"): r"(?:<|&lt;){2}\s*/?\s*sys>>|\[/?inst\]",
    ("<", "&lt;"): (
        r"(?:<|&lt;)\s*/?\s*"
        r"(?:system|assistant|system[_-]prompt|conversation_summary|transcript|previous_summary)\s*>"
    ),
}
"""The text plays a part of the window."""

_OBEY: _Phrases = {
    ("obey me", "do anything now", "your "): (
        r"\b(?:obey me|do anything now)\b|\b(?:never|not|don['’]t|without)\s+(?:mention|reveal|follow|obey|break|apply|use)(?:ing)?\s+"
        r"your (?:own )?(?:guidelines|instructions|rules|policies|programming|system prompt)\b"
    ),
}
"""The model is to leave its own rules."""


def _compiled(*groups: _Phrases) -> tuple[tuple[tuple[str, ...], re.Pattern[str]], ...]:
    """Compile patterns, each with trigger words: a search for the words costs next to nothing."""
    return tuple((words, re.compile(pattern)) for group in groups for words, pattern in group.items())


_ORDERS = _compiled(_TAKE_BACK, _BECOME, _HIDE, _ADDRESS, _SIGNS)
_ANOTHER_MODEL: _Phrases = {("you are now",): _BECOME["you are now",]}
_REVOKING = _compiled(_TAKE_BACK, _ANOTHER_MODEL, _OBEY, _SIGNS)

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
    return _holds(text, _ORDERS)


def revokes_orders(text: str) -> bool:
    """Tell whether a speaker's text asks a model to forget its orders; no rule, whatever else it demands.

    Unlike in a tool result, "from now on you must ..." and "do not tell the user" are orders like others here.

    Args:
        text: Words of a speaker.

    Returns:
        True if such a phrase is found, in any of the known languages.
    """
    return _holds(text, _REVOKING)


def _holds(text: str, patterns: Iterable[tuple[tuple[str, ...], re.Pattern[str]]]) -> bool:
    plain = _INVISIBLE.sub("", unicodedata.normalize("NFKC", text)).casefold()
    return any(pattern.search(plain) for words, pattern in patterns if any(word in plain for word in words))


def is_tainted(lines: Iterable[RenderedLine]) -> bool:
    """Tell whether a tool result gives orders; people may say anything.

    Args:
        lines: A transcript.

    Returns:
        True if an outcome of a call gives orders.
    """
    return any(line.kind is LineKind.RESULT and gives_orders(line.text) for line in lines)
