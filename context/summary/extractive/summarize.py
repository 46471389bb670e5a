# ruff: noqa: RUF001 - one line in each of many languages
"""The built-in model: a deterministic summary of lines from the conversation."""

import re
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass

from context.conversation.transcript import LineKind, RenderedLine
from context.summary.evidence import covered_identifiers, protected_identifiers
from context.summary.extractive.choosing import LINE_CHARS, LINE_TOKENS, PointChoice, find_points
from context.summary.extractive.statements import shorten
from context.summary.extractive.talk import label_of
from context.summary.extractive.turn_points import Point, plain_numbers, with_renewals
from context.summary.gate import GateSettings
from context.summary.prompt import SummaryInput
from context.summary.sections import PROTECTED, Section, section_titles, write_sections
from context.text.cut import one_line, split_sentences
from context.text.exact_values import extract_identifiers, identifier_recall, normal
from context.text.marker_words import is_question, is_strong_rule
from context.tokens.text import count_text
from context.types import Role

MODEL = "extractive"
"""Name of this model in settings."""

_WHAT_IT_IS = {
    "en": "Extractive notes: lines picked from the conversation without a language model.",
    "de": "Extraktive Notizen: Zeilen aus dem Gespräch, ohne Sprachmodell ausgewählt.",
    "fr": "Notes extractives : lignes choisies dans la conversation, sans modèle de langue.",
    "es": "Notas extractivas: líneas elegidas de la conversación, sin modelo de lenguaje.",
    "pt": "Notas extrativas: linhas escolhidas da conversa, sem modelo de linguagem.",
    "it": "Note estrattive: righe scelte dalla conversazione, senza modello linguistico.",
    "nl": "Extractieve notities: regels uit het gesprek, zonder taalmodel gekozen.",
    "pl": "Notatki ekstrakcyjne: wiersze wybrane z rozmowy bez modelu językowego.",
    "tr": "Çıkarımsal notlar: konuşmadan dil modeli olmadan seçilmiş satırlar.",
    "ru": "Выборочные заметки: строки из беседы, отобранные без языковой модели.",
    "uk": "Вибіркові нотатки: рядки з розмови, відібрані без мовної моделі.",
    "zh": "摘录笔记：从对话中挑选的原句，未使用语言模型。",
    "ja": "抜粋メモ：言語モデルを使わず、会話から選んだ行。",
    "ko": "발췌 메모: 언어 모델 없이 대화에서 고른 문장들.",
    "ar": "ملاحظات مقتطفة: أسطر مختارة من المحادثة دون نموذج لغوي.",
    "he": "רשימות מצוטטות: שורות שנבחרו מהשיחה ללא מודל שפה.",
    "hi": "चयनित टिप्पणियाँ: बातचीत से बिना भाषा मॉडल के चुनी गई पंक्तियाँ।",
}
_NAMES_SHARES = (0.22, 0.35, 0.5)
_SPARE = 0.08
"""Margin above the gate's minimum: the gate may be set a little stricter."""
_GATE = GateSettings()
_TARGET_SHARE = 0.75
"""Target share of the covered tokens: the gate requires less than 0.9, and the estimate may be off."""
_AGGRESSIVE_SHARE = 0.6
_CARRIED_WORTH = {
    Section.OBJECTIVE: 3.0,
    Section.CONSTRAINTS: 5.0,
    Section.OPEN: 5.0,
    Section.DECISIONS: 3.5,
    Section.DONE: 2.0,
    Section.PEOPLE: 2.0,
}
_STRONG_BONUS = 3.0
_FIRST_OBJECTIVE_BONUS = 2.0
_NEWER_BONUS = 0.05
_USER_NAME_BONUS = 3.0
"""Bonus for a user's own facts, such as an id or an address, needed to the end."""
_OPEN_CALL = re.compile(r"(?:[^:\[\n]{1,80}: )?([^\s(:]+)\(.* -> (?:error|\?)", re.DOTALL)
_SAID = re.compile(r"\[\d{1,9}[^\]]{0,40}\] ([^:\n]{1,80}):")
_FIGURE = re.compile(r"\W*[\d.,]+\s?\W*\w{0,8}")
"""An amount without the thing measured: a point with both is better."""
_MAX_NAMES = 60
_NAMES_A_LINE = 12
_CARRIED_CHARS = LINE_CHARS
_MOST_REPEATED = 12
_ROUNDS = 4
"""Maximum tries at filling the budget: a line costs a little less than the parts."""
_SPARE_SHARE = 0.03
_LEAST_UNSPENT = 4
_LEAST_CUT = 20


def summarize(request: SummaryInput, *, count: Callable[[str], int] = count_text) -> str:
    """Write the summary requested by a `SummaryInput`.

    Lines of the previous summary are carried over; the least important lines leave first, and constraints,
    open work and identifiers leave last.

    Args:
        request: Input of the summary.
        count: Function that counts the tokens of a text.

    Returns:
        Notes of at most `request.budget_tokens` counted tokens, in the sections of every summary; "" when the
        budget has no room for a single line. Of words without content, such as greetings, a line or two.
    """
    return Summarizer(request, count).write(request.budget_tokens)


class Summarizer:
    """Writer of summaries of the same lines in any length: what the lines say is found once."""

    def __init__(
        self, request: SummaryInput, count: Callable[[str], int] = count_text, *, asked: str | None = None
    ) -> None:
        """Read the lines.

        Args:
            request: Input of the summary; the budget is left to `write`.
            count: Function that counts the tokens of a text.
            asked: The question of the only request that the notes are for: data named there comes first,
                nothing says what the notes are, and no name is told twice. None for a stored summary.
        """
        self._request, self._count, self._is_kept = request, count, asked is None
        self._covered_tokens = sum(count(line.text) for line in request.lines)
        self._covered_tokens += count(request.previous_summary or "")
        covered = covered_identifiers(request.lines, limit=_MAX_NAMES)
        titles = section_titles(request.language).items()
        sizes = {section: count(title) + 2 * LINE_TOKENS for section, title in titles}
        points = _dedupe(with_renewals([*_carried(request), *find_points(request.lines, asked or "")]))
        choice = PointChoice(points, sizes, count)
        self._writer = _SummaryWriter(
            request, covered, choice, _names(request, covered), count, self._is_kept
        )

    def write(self, budget_tokens: int) -> str:
        """Write the summary within a budget; see `summarize`."""
        request, count = self._request, self._count
        header = _WHAT_IT_IS.get(request.language, _WHAT_IT_IS["en"]) if self._is_kept else ""
        share = _AGGRESSIVE_SHARE if request.aggressive else 1.0
        budget = min(int(budget_tokens * share), int(self._covered_tokens * _TARGET_SHARE))
        return _fitted(self._writer, header, budget) or _repeated(request, header, budget, count)


def _repeated(request: SummaryInput, header: str, budget: int, count: Callable[[str], int]) -> str:
    """Repeat words without content, such as greetings, each once; as many as fit."""
    said = {line.text: line for line in reversed(request.lines) if line.kind is LineKind.TEXT}
    text, items = "", list[str]()
    for line in reversed(said.values()):
        items.append(f"{label_of(line)} {plain_numbers(one_line(line.text, LINE_CHARS))}")
        longer = f"{header}\n\n{write_sections({Section.PEOPLE: items}, request.language)}".strip()
        if count(longer) > budget or len(items) > _MOST_REPEATED:
            break
        text = longer
    return text


def _fitted(writer: "_SummaryWriter", header: str, most: int) -> str:
    """Write as much as fits: lines cost a little less or more than the parts."""
    budget, best, round_ = most, "", 0
    while budget > 0 and round_ < _ROUNDS:
        body = writer.write(budget - writer.count(header) - LINE_TOKENS)
        text = f"{header}\n\n{body}".strip() if body else ""
        spare = most - writer.count(text)
        if spare >= 0 and len(text) >= len(best):
            best = text
        if 0 <= spare <= most * _SPARE_SHARE or (spare >= 0 and not body):
            break
        round_ += bool(best)
        budget += spare if spare > 0 else min(spare, -(budget // _LEAST_CUT) - 1)
    return best


@dataclass(frozen=True)
class _SummaryWriter:
    """All inputs of a summary."""

    request: SummaryInput
    covered: Sequence[str]
    choice: PointChoice
    names: Sequence[str]
    count: Callable[[str], int]
    is_kept: bool

    def write(self, budget: int) -> str:
        """Write with the usual share for names, or with a larger share if too many names would be lost."""
        body = ""
        old = protected_identifiers(self.request.before, limit=_GATE.max_protected)
        new = self.covered[: _GATE.max_identifiers]
        for share in _NAMES_SHARES:
            body = self._write(budget, int(budget * share))
            if (
                identifier_recall(body, old) >= _GATE.min_protected + _SPARE
                and identifier_recall(body, new) >= _GATE.min_identifiers + _SPARE
            ):
                break
        return body

    def _write(self, budget: int, most_names: int) -> str:
        """Choose points, and list the unsaid names; tokens left by names go to points again."""
        if budget <= 0:
            return ""
        chosen = self.choice.choose(budget - most_names, is_kept=self.is_kept)
        names = self._names(chosen, most_names)
        spent = sum(map(self.count, names)) + (self.choice.title(Section.IDENTIFIERS) if names else 0)
        if most_names - spent > most_names // _LEAST_UNSPENT:
            chosen = self.choice.choose(budget - spent, is_kept=self.is_kept)
            names = self._names(chosen, spent)
        items = {section: _lines(chosen, section) for section in Section}
        items[Section.IDENTIFIERS] = names
        return write_sections(items, self.request.language)

    def _names(self, chosen: Sequence[Point], most: int) -> list[str]:
        """List the names missing in all points, first names first."""
        said = normal("\n".join(point.text for point in chosen))
        told = said
        if self.is_kept:
            told = normal("\n".join(point.text for point in chosen if point.section in PROTECTED))
        spent = self.choice.title(Section.IDENTIFIERS) + LINE_TOKENS
        fitting: list[str] = []
        for name in self.names:
            cost = self.count(f"`{name}`, ") + 1
            if spent + cost > most or normal(name) in (said if _FIGURE.fullmatch(name) else told):
                continue
            if not any(longer.endswith(("/" + name, "." + name)) for longer in fitting):
                spent += cost
                fitting.append(name)
        starts = range(0, len(fitting), _NAMES_A_LINE)
        return [", ".join(f"`{name}`" for name in fitting[start : start + _NAMES_A_LINE]) for start in starts]


def _lines(chosen: Sequence[Point], section: Section) -> list[str]:
    """Write the points of a section; points of a message share the label, and a gap is marked.

    A fact behind another of the same keys is told by the values alone. Calls of a tool share a line, and a
    fact with keys that the line has told is told by its path and the values.
    """
    lines: list[str] = []
    told: dict[str, str] = {}
    last: Point | None = None
    for point in chosen:
        if point.section is not section:
            continue
        more = _continuation(last, point, told) if last else None
        if more is not None and len(lines[-1]) + len(more) <= LINE_CHARS:
            is_same = last is not None and last.tail == point.tail
            lines[-1] = (lines[-1].removesuffix(point.tail) if is_same else lines[-1]) + more
        else:
            lines.append(point.text)
            told = {}
        told[_path(point)] = point.kind
        last = point
    return lines


def _continuation(last: Point, point: Point, told: Mapping[str, str]) -> str | None:
    """Write a point behind another on the same line; None where it needs a line of its own."""
    is_same_head = bool(point.head) and last.head == point.head
    if not point.shares_line or not (is_same_head or (point.shape and last.shape == point.shape)):
        return None
    body = point.body
    if point.kind and point.kind == told.get(_path(point)):
        body = point.row if point.kind == last.kind and is_same_head else point.named_row
    if is_same_head and last.tail == point.tail:
        return _gap(last, point) + body + point.tail
    return f"; {point.next_head}{body}{point.tail}" if point.shape else None


def _path(point: Point) -> str:
    """Return the path of a fact's thing, as far as things beside it share it."""
    return point.kind.partition("\n")[0]


def _gap(last: Point, point: Point) -> str:
    if point.is_fact:
        return "; "
    return " … " if point.is_spare or point.place != last.place + 1 else " "


def _carried(request: SummaryInput) -> list[Point]:
    """Carry the previous summary's points over; a question answered since is open no more."""
    sections = request.before.sections
    points: list[Point] = []
    order = -10_000
    for section, items in sections.items():
        if section is Section.IDENTIFIERS:
            continue
        target = section or Section.DECISIONS
        for place, item in enumerate(_carried_items(section, items)):
            order += 1
            if not _is_settled(target, item, request.lines):
                points.append(Point(target, item, _carried_worth(target, item, place), order))
    return points


def _carried_items(section: Section | None, items: Sequence[str]) -> Iterable[str]:
    if section is not None:
        return [shorten(" ".join(item.split()), _CARRIED_CHARS) for item in items]
    own = set(_WHAT_IT_IS.values())
    return [sentence for item in items if item not in own for sentence in split_sentences(item)]


def _carried_worth(section: Section, item: str, place: int) -> float:
    worth = _CARRIED_WORTH[section] + place * _NEWER_BONUS
    if section is Section.CONSTRAINTS and is_strong_rule(item):
        return worth + _STRONG_BONUS
    if section is Section.OBJECTIVE and place == 0:
        return worth + _FIRST_OBJECTIVE_BONUS
    is_users = section is Section.PEOPLE and "user" in item.partition(": ")[0]
    return worth + (_USER_NAME_BONUS if is_users and extract_identifiers(item) else 0.0)


def _is_settled(section: Section, item: str, lines: Sequence[RenderedLine]) -> bool:
    """Check an open point: another's words settle a question, the tool's later success a failed call."""
    if section is not Section.OPEN:
        return False
    if call := _OPEN_CALL.match(item):
        return any(
            line.kind is LineKind.RESULT and not line.failed and line.speaker == call[1] for line in lines
        )
    asker = _SAID.match(item)
    role = Role.USER if "(user):" in item or "] user:" in item else Role.ASSISTANT
    return is_question(item) and any(
        line.kind is LineKind.TEXT
        and line.role in {Role.USER, Role.ASSISTANT}
        and (line.speaker != asker[1] if asker else line.role is not role)
        for line in lines
    )


def _dedupe(points: Iterable[Point]) -> list[Point]:
    """Keep the first of equal points; another speaker or message does not make a point new."""
    seen: dict[str, Point] = {}
    for point in points:
        said = point.text.split("] ", 1)[-1] if point.text.startswith("[") else point.text
        seen.setdefault(normal(said), point)
    return list(seen.values())


def _names(request: SummaryInput, new: Sequence[str]) -> list[str]:
    """Order the identifiers: two old identifiers for each new, identifiers in use again first."""
    old = protected_identifiers(request.before, limit=_MAX_NAMES)
    in_use = set(map(normal, new))
    old.sort(key=lambda name: normal(name) not in in_use)
    known = set(map(normal, old))
    fresh = [name for name in new if normal(name) not in known]
    ordered: list[str] = []
    while old or fresh:
        ordered.extend([*old[:2], *fresh[:1]])
        old, fresh = old[2:], fresh[1:]
    return ordered
