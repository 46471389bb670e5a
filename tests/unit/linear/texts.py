# ruff: noqa: E501 - tables; marks of several scripts
"""Texts that are made to be slow: a piece again and again, between a beginning and an end."""

from itertools import product
from typing import NamedTuple


class Shape(NamedTuple):
    """A text of any length: `head`, then `unit` as often as there is room, then `tail`."""

    unit: str
    tail: str = ""
    head: str = ""

    def text(self, chars: int) -> str:
        """Write it with so many characters between both ends: two lengths give two texts."""
        times, rest = divmod(chars, len(self.unit))
        return f"{self.head}{self.unit * times}{self.unit[:rest]}{self.tail}"


_STOP = "\x01X"
"""An end at which a pattern that has taken all before it finds that it was wrong."""

_BLANKS = (" ", "\t", "\n", " \n", "\t ", "\n\n", "\r\n", "\u2028")
_LETTERS = (
    "a",
    "A",
    "aB",
    "a1",
    "A1-",
    "1",
    "0",
    "_",
    "__",
    "é",
    "e\u0301",
    "я",
    "ß",
    "ﬃ",
    "İ",
    "中",
    "あ",
    "ア",
    "가",
    "ع",
    "ก",
)
_MARKS = (
    "?",
    "!",
    ".",
    "...",
    "-",
    "--",
    "(",
    "()",
    ")",
    "[",
    "[]",
    "[[",
    "{",
    "}",
    "<",
    ">",
    "|",
    "/",
    "//",
    "\\",
    "*",
    "**",
    "#",
    "=",
    "+",
    "~",
    "`",
    "```",
    '"',
    "'",
    ",",
    ";",
    ":",
    "@",
    "&",
    "%",
    "$",
    "\u201c",
    "👍",
    "\u200b",
    "\x00",
)
_WORDS = (
    "a ", "A ", "a. ", "A. ", "e.g. ", "ok so i went there. ", "? ", "! ", "# ", "* ", "- ", "| ", ", ", ": ", "; ", "1 ", "1. ",
    "1, ", "[1] ", "[1]", "(a) ", "(a ", "a) ", "'a' ", '"a" ', "`a` ", "\u201ca\u201d ", "a=b ", '="', "$1 ", "@a ", "a@b.c ",
    "/a", "a/", "../", "~/a/", "C:\\a\\", "a/b.py:1: ", "http://", "https://a.b/c?d=e&f ", "GW-3 ", "INV-20001, ", "deadbeef ",
    "ERROR ", "Error: ", "[INST]", "<<SYS>>", "<|", "I ", "I'm ", "n't ", "not ", "don't ", "no ", "and ", "then ", "step 1: ",
    "what is ", "done ", "TODO ", "sorry ", "sure, here is ", "exceed", "input tokens 1 ", "maximum context length is 8192 ",
    "and a. then b ", "--a=b ", "&& ", "cat a | ", "> a ", "cd a && ", "12:00 ", "2024-01-01 ", "May 1 ", "中。", "日本、", "ع ",
    "я ", "data:a/b;base64,", "AAAA+/", "%41", "&amp;", "\\n", '\\"', "\\u0041", "-v1:1", "mcp__a__",
)  # fmt: skip
_LINES = (
    "a\n", "a: b\n", "a:\n", "- a\n", "- a: b\n", "1. a\n", "# a\n", "## Skill: a\n", "**a**\n", "**Done:** a\n", "a\n===\n", "> a\n",
    "|a|\n", "|-|\n", "a,b\n", '"a","b"\n', '"\n', "a\tb\n", "a;\n", "def a():\n", "    a\n", "if (a) {\n", "}\n", "import a\n",
    "+a\n", "-a\n", "@@ -1 +1 @@\n", "diff --git a b\n", "ERROR\n", "2024-01-01T00:00:00Z INFO a\n", "  at a.b (c:1)\n", "user: hi\n",
    "[1] user: a\n", "[1] a calls b(c)\n", "(user): a\n", "```\n", "~~~\n", "a\n```\n", "<a>\n", "<skill>\n", "a\n\n", "the a\nb\n",
)  # fmt: skip
_NESTED = (
    '{"a":', '{"a":[', "[{", '{"', '":', "null,", "[1,", '"a":', "<a ", "<a>", "</a>", "<!--", "<![CDATA[", "<think>", "</think>",
    "<think>a</think>", "[a](", "![](", "([", "{{", "${a}", "$(", "$.a[0]", "\\(",
)  # fmt: skip
_HEADS = (
    "?", "<", "# ", "## ", "**", "- ", "[1]", "[1] a", "a:", "a(b=", "a", "1", "{", "[", '"', "```\n", "<summary>", "<think ", "|",
    "skill:\n", "https://", "@", "-v1:", "In 2024", "error", "a, b\n1", "data:", "\u201c",
)  # fmt: skip

EVERY_SHAPE = (
    *(
        Shape(unit, tail)
        for unit, tail in product((*_BLANKS, *_LETTERS, *_MARKS, *_WORDS, *_LINES, *_NESTED), ("", _STOP))
    ),
    *(
        Shape(unit, _STOP, head)
        for head, unit in product(_HEADS, (" ", "\n", "\t ", "a", "1", ")", "`", "=", "- "))
    ),
)
"""What `make soak` tries."""

QUICK_SHAPES = (
    Shape("a. "),
    Shape("1"),
    Shape("1,234"),
    Shape("changed from a to b "),
    Shape("ok so i went there. "),
    Shape(" ", _STOP),
    Shape("\n", _STOP),
    Shape("ERROR "),
    Shape("[INST]"),
    Shape("?", _STOP),
    Shape('{"a":['),
    Shape("`a", _STOP),
    Shape("- a: b\n"),
    Shape("<a ", _STOP),
    Shape("-", _STOP),
    Shape(" ", _STOP, "# "),
    Shape(" ", _STOP, "?"),
    Shape(")", _STOP, "a(b="),
    Shape(" ", _STOP, "<summary>"),
)
"""One text for each kind of fault that was found, and for those that are found the most."""
