# ruff: noqa: RUF001 - the words are written in their languages' own letters
"""Parts of a long request: asking sentences with full weight, pasted text with less."""

import re

from context.sentences import split_sentences

LONG_CHARS = 800
"""Longest short request in characters; in a short request every sentence counts as asking."""
PASTED_WEIGHT = 0.25
"""Weight of words in a sentence without a request."""

_ASKS = re.compile(
    r"""
    [?？؟]\W{0,4}$
    | \b(?:please|(?:can|could|would|will)\ you|i\ (?:want|need)|i(?:'?d|\ would)\ like|help\ me|let'?s)\b
    | ^\W*(?:(?:and|then|also|first|next|finally|now)\W+){0,2}
      (?:add|analy[sz]e|book|build|buy|calculate|call|check|compare|convert|copy|create|delete|deploy|describe
      |download|draft|draw|edit|email|explain|export|extract|fetch|find|fix|generate|get|give|go|help|illustrate|import|install
      |list|look|make|move|open|order|paint|pay|plan|play|post|prepare|publish|put|read|recommend|record|remember
      |remind|remove|render|rename|research|reserve|review|rewrite|run|save|schedule|search|send|set|show|start|stop
      |store|suggest|summari[sz]e|take|tell|test|track|translate|turn|update|upload|use|write)\b
    | 请|請|帮我|幫我|ください|下さい|お願い|주세요|해줘|пожалуйста|нужно|хочу|من\ فضلك|أريد
    | \b(?:por\ favor|quiero|necesito|bitte|ich\ möchte|s'il\ (?:te|vous)\ plaît|je\ veux
      |per\ favore|vorrei|preciso|quero)\b
    """,
    re.IGNORECASE | re.VERBOSE,
)


def split_request(text: str) -> list[tuple[str, float]]:
    """Split a request into asking parts and pasted parts.

    Args:
        text: A request.

    Returns:
        The parts with weights in (0, 1], highest first; a short request is a single part. Without any asking
        sentence, the first and the last count as asking.
    """
    if len(text) <= LONG_CHARS:
        return [(text, 1.0)]
    sentences = split_sentences(text)
    asking = [_ASKS.search(sentence) is not None for sentence in sentences]
    if not any(asking):
        asking = [at in {0, len(sentences) - 1} for at in range(len(sentences))]
    parts = {
        weight: "\n".join(sentence for sentence, asks in zip(sentences, asking, strict=True) if asks is kind)
        for kind, weight in ((True, 1.0), (False, PASTED_WEIGHT))
    }
    return [(part, weight) for weight, part in parts.items() if part]
