# ruff: noqa: E501, RUF001 - tables; the words are written in their languages' own letters
"""Patterns of wrapping, errors, tool calls and thinking aloud in a model's reply."""

import re

FENCE = re.compile(r"\A(`{3,40}|~{3,40})[\w-]*[ \t]*\n(.*?)\n?\1[ \t]*\Z", re.DOTALL)
UNCLOSED_FENCE = re.compile(
    r"\A(?:`{3,}|~{3,})(?:markdown|md|text|txt|plaintext)?[ \t]*\n(?!.*^(?:`{3,}|~{3,}))",
    re.DOTALL | re.MULTILINE,
)
TAGGED = re.compile(
    r"\A<(summary|notes|conversation_summary|previous_summary|output|answer)\b[^<>]*>(.*)</\1>\Z",
    re.DOTALL | re.IGNORECASE,
)
_TO_COLON = r"[^\n]{0,120}?"
PREAMBLE = re.compile(
    r"\A(?:(?:sure|certainly|of course|okay|ok|absolutely)\b[^\n]{0,40}?[,.!:]\s*)?"
    rf"(?:(?:here(?:'s|’s| is| are)|below is|i(?:'ve| have) (?:updated|written|prepared)|hier (?:ist|sind)|voici"
    rf"|aquí (?:está|tienes)|aqui está|ecco|вот|ось|oto|hieronder|işte)\b{_TO_COLON}"
    rf"|(?:以下是|以下は|다음은|إليك|להלן|यहाँ|यह रहा){_TO_COLON})[:：][ \t]*\n+",
    re.IGNORECASE,
)
HEADING = re.compile(r"^\s{0,3}#{1,6}\s+\S", re.MULTILINE)
HEADING_LINE = re.compile(r"^[ \t]{0,3}#{1,6}[ \t]+\S.*$", re.MULTILINE)
SOFT_HEADING = re.compile(
    r"^[ \t]{0,3}(?:(?:\*\*|__)([^\n*_]{1,80})(?:\*\*|__)[:：]?[ \t]*$|(\S[^\n]{0,80})\n=+[ \t]*$)",
    re.MULTILINE,
)
LABEL = re.compile(r"\A[\s>#]*(?:(?:\*\*|__)[^\n*_]{1,40}(?:\*\*|__)[:：]?\s*)?")
POINT = re.compile(r"\s*(?:[-*•·–]|\d{1,3}[.)])\s")
SOURCE = re.compile(r"\[\s*\d{1,9}[\d\s,;–-]*\]")
SPEECH = re.compile(r"[^:：.!?]{1,60}[:：]\s")
FENCE_LINE = re.compile(r"[ \t]*(`{3,}|~{3,})")
QUOTED = re.compile(
    r"`[^`\n]*`|\"[^\"\n]*\"|“[^”\n]{0,400}”|«[^»\n]{0,400}»|„[^“”\n]{0,400}[“”]|「[^」\n]{0,400}」"
)

ERROR = re.compile(
    r"\A[\s\"'{\[*#`>-]*(?:"
    r"(?:litellm|openai|anthropic|httpx|requests|botocore|google)\.[\w.]*(?:error|exception)"
    r"|traceback \(most recent call last\)"
    r"|(?:[a-z_]\w*\.)*[a-z]\w*(?:error|exception)\b\s*[:(]"
    r"|(?:api |server |internal |network |request |connection |unexpected )*error(?: code)?\s*[:#(-]"
    r"|(?:internal server error|bad gateway|service unavailable|gateway time-?out|too many requests|rate limit"
    r"|request timed out|connection (?:error|refused|reset|timed out|aborted)|unauthorized|forbidden"
    r"|invalid api key|quota exceeded|overloaded|context length exceeded|model not found"
    r"|upstream (?:connect )?error)\b"
    r"|(?:http(?:/\d\.\d)?|status(?: code)?|error(?: code)?)[ :]+[45]\d\d\b"
    r"|[45]\d\d (?:client|server|bad|internal|too many|service|gateway|unauthorized|forbidden|not found|error)\b"
    r"|<!doctype html|<html\b"
    r"|an? (?:unexpected |internal |unknown )?error (?:occurred|has occurred|happened)\b"
    r"|(?:failed|unable) to (?:generate|produce|create|get|fetch) (?:a |the )?"
    r"(?:response|summary|completion|reply)"
    r"|sorry, (?:something went wrong|an error occurred|there was an error)"
    r"|something went wrong"
    r")",
    re.IGNORECASE,
)
ERROR_ANYWHERE = re.compile(
    r"maximum context length is \d+|rate limit (?:reached|exceeded) for|you exceeded your current quota"
    r"|\"type\"\s*:\s*\"(?:\w+_)?error\"|'error'\s*:\s*\{|\"error\"\s*:\s*[{\"]",
    re.IGNORECASE,
)
TOOL_TEXT = re.compile(
    r"^[^\S\n]*<(?:tool_calls?|function_calls?|tool_use|invoke|antml:\w+|minimax:tool_call|function=)[\s>\w]"
    r"|<\|(?:tool_call|tool_calls_section|python_tag|plugin)\w*\|?|\[(?:TOOL_CALLS?|TOOL_REQUEST)\]|<｜tool"
    r"|^functions\.\w+[:(]|^to=functions\."
    r"|\A\s*(?:print\()?(?:default_api\.)?[a-z_]\w*\((?:\s*+\w+\s*+=\s*+[^\n]*\)|\)+)\s*\Z",
    re.IGNORECASE | re.MULTILINE,
)
_TOOL_TAG = r"(?:tool_calls?|function_calls?|tool_use|invoke|antml:\w+|minimax:tool_call|function)"
TOOL_LINE = re.compile(
    rf"^[ \t]*<{_TOOL_TAG}[\s>=]|^[ \t]*[-*•][ \t]+<{_TOOL_TAG}(?:[=\s][^<>\n]*)?>\s*(?:[{{\[<]|\Z)"
    r"|^[ \t]*(?:[-*•][ \t]+)?(?:<\|(?:tool_call|tool_calls_section|python_tag|plugin)\w*\|?|<｜tool)"
    r"|^[ \t]*(?:[-*•][ \t]+)?\[(?:TOOL_CALLS?|TOOL_REQUEST)\][ \t]*[\[{\w]"
    r"|^[ \t]*(?:functions\.\w+[:(]|to=functions\.)"
    r"|\A\s*(?:print\()?(?:default_api\.)?[a-z_]\w*\((?:\s*+\w+\s*+=\s*+[^\n]*\)|\)+)\s*\Z",
    re.IGNORECASE | re.MULTILINE,
)
"""A call in the place of notes under a heading; a call merely mentioned in a point does not match."""
REASONING = re.compile(
    r"\A(?:(?:okay|ok|alright|hmm+|wait|so)[,.]\s|let(?: me|'s|’s| us) (?:see|think|start|begin|summar|look|read|anal|break|write"
    r"|draft|check|first|try|go|now|re-?read|figure|carefully)|first,? (?:i|let)\b|i (?:need|should|have|must|will|am going) to\b"
    r"|i'(?:ll|m going)\b|we (?:need|should|must|have) to\b|so,? the user\b|my task\b|the task is\b"
    r"|the user (?:wants|is asking|asks|has asked|asked) (?:me|us|for)\b|thinking process"
    r"|好的，|首先，?我|我需要|嗯，|хорошо,|мне нужно|итак, мне|まず、私)",
    re.IGNORECASE,
)
