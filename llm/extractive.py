# ruff: noqa: RUF001 - one line in each of many languages
"""The built-in model: a deterministic summary of what the conversation itself says."""

import re
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass

from context.clip import one_line
from context.cues import is_question, is_strong_rule
from context.gate import GateSettings, covered_identifiers, protected_identifiers
from context.identifiers import extract_identifiers, identifier_recall, normal
from context.prompts import SummaryInput
from context.render import LineKind, RenderedLine
from context.sections import Section, read_sections, section_titles, write_sections
from context.sentences import split_sentences
from context.tokens.text import count_text
from context.types import Role
from llm.points import Point, find_points

MODEL = "extractive"
"""The name under which settings choose this model."""

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
_SHARES = {
    Section.CONSTRAINTS: 0.32,
    Section.OPEN: 0.2,
    Section.OBJECTIVE: 0.12,
    Section.DECISIONS: 0.12,
    Section.DONE: 0.16,
    Section.PEOPLE: 0.08,
}
"""What each section may take before the rest goes to the best of all; identifiers have their own share."""
_NAMES_SHARES = (0.22, 0.35, 0.5)
_SPARE = 0.08
"""Above what the gate wants: it may be set a little stricter."""
_GATE = GateSettings()
_TARGET_SHARE = 0.75
"""Of what it covers: the gate wants less than 0.9, and the estimate may be off."""
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
_URGENT = {Section.CONSTRAINTS: 3.0, Section.OPEN: 2.0, Section.OBJECTIVE: -2.0}
_FIRST_OBJECTIVE_BONUS = 2.0
_NEWER_BONUS = 0.05
_USER_NAME_BONUS = 3.0
"""What a user told about himself, an id or an address, is needed to the end."""
_OPEN_CALL = re.compile(r"(?:[^:\[\n]{1,80}: )?([^\s(:]+)\(.* -> (?:error|\?)", re.DOTALL)
_MAX_NAMES = 60
_NAMES_A_LINE = 12
_LINE_TOKENS = 3
_CARRIED_CHARS = 420


def summarize(request: SummaryInput, *, count: Callable[[str], int] = count_text) -> str:
    """Write the summary that a `SummaryInput` asks for.

    The previous summary's lines are carried over; the least important leave first, and constraints, open work
    and identifiers leave last.

    Args:
        request: What to summarize.
        count: Counts the tokens of a text.

    Returns:
        Notes of at most `request.budget_tokens` tokens by that count, in the sections of every summary; ""
        where the budget has no room for a single line.
    """
    header = _WHAT_IT_IS.get(request.language, _WHAT_IT_IS["en"])
    covered = covered_identifiers(request.lines, limit=_MAX_NAMES)
    material = _Material(
        points=_dedupe([*_carried(request), *find_points(request.lines)]),
        covered=covered,
        names=_names(request, covered),
        titles=section_titles(request.language),
    )
    budget = _budget(request, count)
    while budget > 0:
        body = _write(material, request, count, budget - count(header) - _LINE_TOKENS)
        text = f"{header}\n\n{body}" if body else ""
        over = count(text) - request.budget_tokens
        if over <= 0:
            return text
        budget -= max(over, budget // 10, 1)
    return ""


@dataclass(frozen=True)
class _Material:
    """What a summary could be made of."""

    points: Sequence[Point]
    covered: Sequence[str]
    names: Sequence[str]
    titles: Mapping[Section, str]


def _budget(request: SummaryInput, count: Callable[[str], int]) -> int:
    covered = sum(count(line.text) for line in request.lines) + count(request.previous_summary or "")
    share = _AGGRESSIVE_SHARE if request.aggressive else 1.0
    return min(int(request.budget_tokens * share), int(covered * _TARGET_SHARE))


def _write(material: _Material, request: SummaryInput, count: Callable[[str], int], budget: int) -> str:
    """Write with the usual share for names, or with a larger one where too many of them would be lost."""
    body = ""
    old = protected_identifiers(request.previous_summary or "", limit=_GATE.max_protected)
    new = material.covered[: _GATE.max_identifiers]
    for share in _NAMES_SHARES:
        body = _write_once(material, request.language, count, (budget, share))
        if (
            identifier_recall(body, old) >= _GATE.min_protected + _SPARE
            and identifier_recall(body, new) >= _GATE.min_identifiers + _SPARE
        ):
            break
    return body


def _write_once(
    material: _Material, language: str, count: Callable[[str], int], limits: tuple[int, float]
) -> str:
    budget, names_share = limits
    room = _Room(
        budget,
        {section: count(title) + 2 * _LINE_TOKENS for section, title in material.titles.items()},
        count,
    )
    reserved = int(budget * names_share)
    room.left -= reserved
    chosen = sorted(_choose(material.points, room, room.left), key=lambda point: point.order)
    room.left += reserved
    items = {section: [point.text for point in chosen if point.section is section] for section in Section}
    told = normal("\n".join(items[Section.CONSTRAINTS] + items[Section.OPEN]))
    items[Section.IDENTIFIERS] = room.take_names(
        [name for name in material.names if normal(name) not in told]
    )
    return write_sections(items, language)


def _choose(points: Sequence[Point], room: "_Room", budget: int) -> list[Point]:
    """Fill each section's share with its best points, then the rest with the best of all."""
    by_worth = sorted(points, key=lambda point: (-point.score, -point.order))
    chosen: list[Point] = []
    for section, share in _SHARES.items():
        floor = room.left - int(budget * share)
        chosen.extend(
            point for point in by_worth if point.section is section and room.take(point, floor=floor)
        )
    taken = set(map(id, chosen))
    rest = [point for point in by_worth if id(point) not in taken]
    rest.sort(key=lambda point: -(point.score + _URGENT.get(point.section, 0.0)))
    chosen.extend(point for point in rest if room.take(point))
    return chosen


class _Room:
    """The tokens that are left, and the titles that are paid for."""

    def __init__(self, budget: int, titles: dict[Section, int], count: Callable[[str], int]) -> None:
        self.left = budget
        self._titles = titles
        self._count = count
        self._costs: dict[str, int] = {}

    def take(self, point: Point, *, floor: int = 0) -> bool:
        """Spend what a point costs, if that leaves at least `max(floor, 0)`."""
        cost = self._cost(point.text) + self._titles.get(point.section, 0)
        if self.left - cost < max(floor, 0):
            return False
        self._titles.pop(point.section, None)
        self.left -= cost
        return True

    def take_names(self, names: Sequence[str]) -> list[str]:
        """Spend all that is left on a list of names, first ones first."""
        most = self.left
        spent = self._titles.get(Section.IDENTIFIERS, 0) + _LINE_TOKENS
        fitting: list[str] = []
        for name in names:
            cost = self._count(f"`{name}`, ") + 1
            if spent + cost <= most and not any(
                longer.endswith(("/" + name, "." + name)) for longer in fitting
            ):
                spent += cost
                fitting.append(name)
        starts = range(0, len(fitting), _NAMES_A_LINE)
        return [", ".join(f"`{name}`" for name in fitting[start : start + _NAMES_A_LINE]) for start in starts]

    def _cost(self, text: str) -> int:
        if text not in self._costs:
            self._costs[text] = self._count(text) + _LINE_TOKENS
        return self._costs[text]


def _carried(request: SummaryInput) -> list[Point]:
    """Carry the previous summary's points over; a question that has been answered since is open no more."""
    sections = read_sections(request.previous_summary or "")
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
        return [one_line(item, _CARRIED_CHARS) for item in items]
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
    """An open question is settled by words of somebody else, a failed call by a later success of its tool."""
    if section is not Section.OPEN:
        return False
    if call := _OPEN_CALL.match(item):
        return any(
            line.kind is LineKind.RESULT and not line.failed and line.speaker == call[1] for line in lines
        )
    asker = Role.USER if "(user):" in item or "] user:" in item else Role.ASSISTANT
    return is_question(item) and any(
        line.kind is LineKind.TEXT and line.role in {Role.USER, Role.ASSISTANT} and line.role is not asker
        for line in lines
    )


def _dedupe(points: Iterable[Point]) -> list[Point]:
    """Keep the first of the points that say the same; who said it in which message does not make it new."""
    seen: dict[str, Point] = {}
    for point in points:
        said = point.text.split("] ", 1)[-1] if point.text.startswith("[") else point.text
        seen.setdefault(normal(said), point)
    return list(seen.values())


def _names(request: SummaryInput, new: Sequence[str]) -> list[str]:
    """Order the identifiers: two of the last summary's for one new one, those in use again before others."""
    old = protected_identifiers(request.previous_summary or "", limit=_MAX_NAMES)
    in_use = set(map(normal, new))
    old.sort(key=lambda name: normal(name) not in in_use)
    known = set(map(normal, old))
    fresh = [name for name in new if normal(name) not in known]
    ordered: list[str] = []
    while old or fresh:
        ordered.extend([*old[:2], *fresh[:1]])
        old, fresh = old[2:], fresh[1:]
    return ordered
