"""Judgement of a tool's output: whether the call failed, where the message itself does not say."""

# ruff: noqa: E501 - a table of signs, some in other scripts

import re

_HEAD_CHARS = 200
_TAIL_CHARS = 60
_WHOLE_CHARS = 160
"""Maximum characters of a result that is nothing but one message."""
_MOST_ROWS = 5

_BAD_STATE = (
    r"timed[ _-]?out|time[ _-]?out|aborted|rejected|refused|denied|declined|unauthori[sz]ed|forbidden|"
    r"not[ _]found|unreachable|unhealthy|crashed|failed|failure"
)
_BAD = rf"{_BAD_STATE}|unavailable|expired|exceeded|killed|invalid"
_REASON = (
    r"bad request|unauthori[sz]ed|payment required|forbidden|not found|method not allowed|request time-?out|conflict|gone|"
    r"unprocessable|too many requests|internal server error|not implemented|bad gateway|service unavailable|gateway time-?out"
)
_ERRNO = (
    r"no such file or directory|permission denied|operation not permitted|command not found|not a directory|is a directory|"
    r"file exists|no space left on device|read-only file system|broken pipe|cannot allocate memory|device or resource busy|"
    r"connection (?:refused|timed out|reset by peer)|network is unreachable|no route to host|name or service not known"
)
_SIGNS = (
    # the first words name an error
    r"\A[\s\[(>*#-]*(?:uncaught |unhandled |fatal |tool |internal |remote: )?[\w.]{0,40}(?:error|exception|failure)s?(?=\s*(?:[:\[(!]|\Z)|[ \t]*\n|\s+(?:in|at|on|while|when|executing|calling|running|occurred|code)\b)",
    r"\A\s*(?:traceback(?: \(most recent|\s*:)|fatal:|panic:|thread '[^'\n]*' panicked|failed\b|failure\b|could not\b|cannot\b|command aborted|success: false)",
    r"\A\s*(?:fehler|erreur|errore|erro|fout|błąd|hata|ошибка|помилка|错误|錯誤|エラー|오류|خطأ)\s*[:!\uff1a\uff01]",
    r"\A\S+:\d+(?::\d+)?: (?:fatal )?error: ",
    # an object that begins with its failure, or tells a bad exit
    r"\A\s*\{\s*\"(?:error|isError)\"\s*:(?!\s*(?:null|false|\"\"))",
    r"\A\s*\{\s*\"(?:ok|success|succeeded)\"\s*:\s*false\b",
    rf"\A\s*\{{\s*\"(?:status|state|result|outcome|health)\"\s*:\s*\"(?:error|{_BAD_STATE})\"",
    r"\A\s*\{\s*\"(?:status|status_?code|http_?status|code)\"\s*:\s*\"?[45]\d\d\b",
    r"\A\s*\{(?:.|\n)*\"(?:exit_?code|exit_?status|return_?code)\"\s*:\s*-?[1-9]",
    rf"\A\s*\{{\s*\"(?:message|detail|msg)\"\s*:\s*\"(?:[^\"\n]{{0,60}} )?(?:{_BAD})[.!]?\"\s*\}}\s*\Z",
    # the last words or a row tell a bad exit
    r"(?:exited with|exit|returned non-zero exit) (?:code|status):? -?[1-9]\d{0,2}\W*\Z|exited with signal \w+\W*\Z",
    r"is_?error(?:\"\s*:\s*|=)true[\s)}]*\Z",
    r"(?-i:\A\s*(?:--- )?FAIL(?:ED)?[:\s]|BUILD FAILED|^FAILED \S+::|\bpassed\b.{0,60}\bFAILED\b)",
    r"\A\s*npm err|^make(?:\[\d+\])?: \*\*\* .{0,99}error|^\s*! \[(?:remote )?rejected\]|^error: failed to ",
    r"(?<![\d.,])[1-9]\d{0,5} failed\b.{0,60}\bpassed\b|\bpassed\b.{0,60}[^\d.,][1-9]\d{0,5} failed\b",
    # the answer of a server
    rf"\A\s*(?:HTTP(?:/[\d.]+)?\s+)?(?:(?:status|error)(?: code)?[ :]+)?[45]\d\d:? (?:{_REASON})\b",
    r"\A\s*HTTP(?:/[\d.]+)?\s+(?:status )?(?:code )?[45]\d\d\s*(?:[:.\n]|\Z)",
)
_FAILURE = re.compile("|".join(_SIGNS), re.IGNORECASE | re.MULTILINE)
_TELLS_OF_FAILURES = r"(?:(?:if|when|no|none|nobody|nothing|never|without|zero|how|why|all|\d+)\b)"
_MESSAGE = re.compile(
    rf"\s*(?!{_TELLS_OF_FAILURES})(?:(?!that\b|which\b|not? (?!found)|never\b)[\w#'\"./-]+ ){{0,6}}?"
    rf"(?:{_BAD})(?=\s*(?:[:;,.!(]|\Z)| (?:after|because|due|since|while|by (?:the )?(?:server|remote|peer|host))\b).*"
    r"|\W*(?:signal: )?(?:\w+ )?(?:killed|terminated|aborted|segmentation fault|bus error|illegal instruction|out of memory)"
    r"(?:: \d+)?(?: \(core dumped\))?\W*"
    r"|\s*too many requests\b.*|\s*exit status -?[1-9]\d*\s*",
    re.IGNORECASE,
)
"""A result of one row that is nothing but the message of a failure."""
_SYSTEM = re.compile(rf"[^:\n]+: .*(?:{_ERRNO})\W*", re.IGNORECASE)
"""A program's row of what the system refused: "cp: a.txt: Permission denied"."""


def looks_failed(output: str) -> bool:
    """Tell whether a tool's output reads like a failure, if the message itself does not say.

    Args:
        output: A tool's output.

    Returns:
        True if the first words name an error, the last words a bad exit code, or nothing but a failure is
        told. A text that speaks of errors among other things is no failure.
    """
    return _is_only_a_failure(output) or _FAILURE.search(_ends(output)) is not None


def _ends(output: str) -> str:
    if len(output) <= _HEAD_CHARS + _TAIL_CHARS:
        return output
    return output[:_HEAD_CHARS] + "\n" + output[-_TAIL_CHARS:]


def _is_only_a_failure(output: str) -> bool:
    if len(output) > _MOST_ROWS * _WHOLE_CHARS:
        return False
    rows = [row for row in output.split("\n") if row.strip()]
    if len(rows) == 1 and len(rows[0]) <= _WHOLE_CHARS and _MESSAGE.fullmatch(rows[0]):
        return True
    return 0 < len(rows) <= _MOST_ROWS and all(map(_SYSTEM.fullmatch, rows))
