"""Conversion of HTML to text: headings, lists and tables as Markdown. Runs in a process; see `sandbox`.

Invisible content is left out: scripts, styles, comments, hidden elements.
"""

import re
from html.parser import HTMLParser

from api.artifacts.documents.child import Collector, DocumentLimits, Extracted, UnreadableError, serve

_VOID_NAMES = "area base basefont bgsound br col embed frame hr img input link meta param source track wbr"
_UNSEEN_NAMES = (
    "applet audio canvas datalist head iframe math noembed noframes noscript object script select style svg "
    "template video"
)
_BLOCK_NAMES = (
    "address article aside blockquote body caption center dd details dialog div dl dt fieldset figcaption "
    "figure footer form h1 h2 h3 h4 h5 h6 header hgroup html li main menu nav ol p pre section summary table "
    "tbody tfoot thead tr ul"
)
_VOID = frozenset(_VOID_NAMES.split())
_UNSEEN = frozenset(_UNSEEN_NAMES.split())
_BLOCKS = frozenset(_BLOCK_NAMES.split())
_CLOSED_BY = {
    "p": _BLOCKS - {"li", "td", "tr"},
    "li": frozenset({"li"}),
    "dt": frozenset({"dt", "dd"}),
    "dd": frozenset({"dt", "dd"}),
    "td": frozenset({"td", "th", "tr"}),
    "th": frozenset({"td", "th", "tr"}),
    "tr": frozenset({"tr", "tbody", "tfoot", "thead"}),
    "option": frozenset({"option"}),
}
"""Elements closed by the start of certain others, even without an end tag."""
_HEADINGS = {f"h{level}": "#" * level for level in range(1, 7)}
_SEPARATE = frozenset(_HEADINGS) | {"p", "table", "pre", "blockquote", "ul", "ol", "section", "article", "dl"}
_HIDDEN_STYLE = re.compile(
    r"display\s*:\s*none|visibility\s*:\s*(?:hidden|collapse)|font-size\s*:\s*0(?![.\d]*[1-9])"
    r"|opacity\s*:\s*0(?![.\d]*[1-9])",
    re.IGNORECASE,
)
_BLANKS = re.compile(r"[\s\u00a0]+")
_CELLS = frozenset({"td", "th"})
_MOST_DEPTH = 2_000
_MOST_INLINE = 20
_NOTE = "scripts, styles, comments and hidden elements are left out"


class _Page(HTMLParser):
    """Reads a page into lines of text."""

    def __init__(self, most_chars: int) -> None:
        super().__init__(convert_charrefs=True)
        self.lines = Collector(most_chars)
        self.title = ""
        self.hid_something = False
        self._open: list[tuple[str, bool]] = []
        self._unseen = 0
        self._line: list[str] = []
        self._prefix = ""
        self._blank_before = False
        self._cells: list[list[str]] = []
        self._ruled: list[bool] = []
        self._in_title = False
        self._verbatim = 0

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        while self._close_implied(tag):
            pass
        if tag in _CELLS and not self._in_row():
            self.handle_starttag("tr", [])
        given = dict(attrs)
        if tag in _VOID:
            if not self._unseen:
                self._void(tag, given)
            return
        unseen = tag in _UNSEEN or _is_hidden(given)
        if tag == "title":
            self._in_title = not self.title
        if len(self._open) >= _MOST_DEPTH:
            raise UnreadableError("is nested too deeply", limit=_MOST_DEPTH)
        self._open.append((tag, unseen))
        self._unseen += unseen
        self.hid_something |= unseen
        if not self._unseen:
            self._begin(tag)

    def handle_startendtag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.handle_starttag(tag, attrs)
        if tag not in _VOID and tag not in _BLOCKS:
            self.handle_endtag(tag)

    def handle_endtag(self, tag: str) -> None:
        if tag == "title":
            self._in_title = False
        if any(name == tag for name, _ in reversed(self._open)):
            while self._close() != tag:
                pass

    def handle_data(self, data: str) -> None:
        if self._in_title:
            self.title = (self.title + data)[:500]
        elif not self._unseen:
            if self._verbatim and not self._cells:
                self._add_verbatim(data)
            else:
                self._line.append(data)

    def handle_comment(self, data: str) -> None:
        self.hid_something |= bool(data.strip())

    def finish(self) -> str:
        """End every element and return the text."""
        self.close()
        while self._open:
            self._close()
        self._break()
        return "".join(self.lines.parts).strip()

    def _in_row(self) -> bool:
        for name, _ in reversed(self._open):
            if name in {"tr", "table"}:
                return name == "tr"
        return False

    def _close_implied(self, tag: str) -> bool:
        """Close an element ended by the start of another; inline elements do not keep the element open."""
        for depth, (name, _) in enumerate(reversed(self._open), 1):
            if tag in _CLOSED_BY.get(name, frozenset()):
                for _ in range(depth):
                    self._close()
                return True
            if name in _BLOCKS or name in _UNSEEN or depth > _MOST_INLINE:
                return False
        return False

    def _close(self) -> str:
        tag, unseen = self._open.pop()
        if not self._unseen:
            self._end(tag)
        self._unseen -= unseen
        return tag

    def _void(self, tag: str, given: dict[str, str | None]) -> None:
        if tag == "br":
            self._break()
        elif tag == "hr":
            self._break(blank=True)
        elif tag == "img" and (given.get("alt") or "").strip():
            self._line.append(f" {given['alt']} ")

    def _begin(self, tag: str) -> None:
        if tag in _CELLS:
            self._line_into_cell()
            self._cells[-1:] = [[*self._cells[-1], ""]] if self._cells else [[""]]
        elif tag == "tr":
            self._break()
            self._cells.append([])
        elif tag in _BLOCKS:
            self._break(blank=tag in _SEPARATE)
            self._verbatim += tag == "pre"
            self._ruled += [False] if tag == "table" else []
            self._prefix = self._prefix_of(tag) or self._prefix

    def _prefix_of(self, tag: str) -> str:
        if tag in _HEADINGS:
            return _HEADINGS[tag] + " "
        return "- " if tag == "li" else ""

    def _end(self, tag: str) -> None:
        if tag in _CELLS:
            self._line_into_cell()
        elif tag == "tr":
            self._end_row()
        elif tag in _BLOCKS:
            self._break(blank=tag in _SEPARATE)
            self._verbatim -= tag == "pre"
            self._prefix = ""
            if tag == "table" and self._ruled:
                self._ruled.pop()

    def _line_into_cell(self) -> None:
        if self._cells and self._cells[-1]:
            words = _BLANKS.sub(" ", " ".join([self._cells[-1][-1], "".join(self._line)])).strip()
            self._cells[-1][-1] = words
            self._line = []

    def _end_row(self) -> None:
        self._line_into_cell()
        if not self._cells:
            return
        cells = [cell.replace("|", "\\|") for cell in self._cells.pop()]
        if not any(cells):
            return
        if self._cells:  # a table inside a cell: its rows are words of that cell
            self._line.append(" ".join(cells) + " ")
            return
        self._write("| " + " | ".join(cells) + " |" if len(cells) > 1 else cells[0])
        if self._ruled and not self._ruled[-1] and len(cells) > 1:
            self._write("|" + " --- |" * len(cells))
            self._ruled[-1] = True

    def _break(self, *, blank: bool = False) -> None:
        """End the line; a table cell has a single line."""
        if self._cells:
            self._line.append(" ")
            return
        words = _BLANKS.sub(" ", "".join(self._line)).strip()
        self._line = []
        if words:
            self._write(self._prefix + words)
            self._prefix = ""
        self._blank_before |= blank

    def _add_verbatim(self, data: str) -> None:
        *whole, rest = data.split("\n")
        for line in whole:
            self._write("".join(self._line) + line)
            self._line = []
        if rest:
            self._line.append(rest)

    def _write(self, line: str) -> None:
        if self._blank_before and self.lines.parts:
            self.lines.add("\n")
        self._blank_before = False
        self.lines.add(line + "\n")


def _is_hidden(given: dict[str, str | None]) -> bool:
    if "hidden" in given or (given.get("aria-hidden") or "").strip().lower() == "true":
        return True
    return bool(_HIDDEN_STYLE.search((given.get("style") or "")[:2_000]))


def extract_html(data: bytes, limits: DocumentLimits) -> Extracted:
    """Read the text of a UTF-8 page.

    Raises:
        UnreadableError: The page is over a limit, or shows no text.
    """
    page = _Page(limits.most_chars)
    page.feed(data.decode("utf-8", "replace"))
    text = page.finish()
    if not text:
        raise UnreadableError("shows no text: everything in it is hidden or no text")
    title = _BLANKS.sub(" ", page.title).strip()[:200]
    return Extracted(text, title, (_NOTE,) if page.hid_something else ())


if __name__ == "__main__":
    serve(extract_html)
