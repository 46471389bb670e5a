# ruff: noqa: E501, RUF001, ARG001 - tables in many scripts; all changes of a line are called alike
"""Drafts for the summary gate: good ones by the built-in summarizer and by rules, and bad ones made from them."""

import random
import re
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass

from benchmarks.extractive_summaries import segments, to_messages
from benchmarks.gate_talks import TALKS
from context.conversation.transcript import participants, render_transcript
from context.summary.extractive.summarize import summarize
from context.summary.gate import Covered
from context.summary.prompt import SummaryInput, summary_messages
from context.summary.sections import Section, SummaryDocument, SummaryLine, section_titles
from context.summary.user_rules import find_rules
from context.text.language import main_language
from context.tokens.text import count_text
from context.types import JsonObject, Role
from tests.data import DATA, read_jsonl

SEGMENT_TOKENS = 1_500
A_SET = 14
_SEQ = re.compile(r"\[(\d+)[^\]]*\]")


@dataclass(frozen=True)
class Talk:
    """A stretch of a conversation, and the notes that the built-in summarizer makes of it."""

    origin: str
    language: str
    covered: Covered
    notes: str


@dataclass(frozen=True)
class Case:
    """A draft, and whether it may take effect.

    Attributes:
        talk: What it claims to sum up.
        kind: How it was made.
        text: The draft.
        spoiled: The line that must not take effect, or the rule that must not be lost; "" for the whole draft.
    """

    talk: Talk
    kind: str
    text: str
    spoiled: str = ""

    @property
    def is_good(self) -> bool:
        """Whether it may take effect as it is."""
        return self.kind.startswith("good")


def read_talks() -> list[Talk]:
    """Cut real conversations into stretches, and the short talks in ten languages with them."""
    talks = [_talk("talks", _two_roles(messages)) for messages in TALKS.values()]
    for name, conversations in _real():
        found = (_talk(name, bodies) for bodies in conversations)
        talks += [talk for talk in found if talk is not None][:A_SET]
    return [talk for talk in talks if talk is not None and talk.notes]


def _two_roles(messages: Sequence[str]) -> list[JsonObject]:
    return [
        {"role": ("user", "assistant")[place % 2], "content": text} for place, text in enumerate(messages)
    ]


def _real() -> Iterator[tuple[str, Iterator[list[JsonObject]]]]:
    yield "tau_airline", (row["messages"] for row in read_jsonl(DATA / "tau_airline/trajectories.jsonl"))
    yield "livemcp", (row["messages"] for row in read_jsonl(DATA / "livemcp/trajectories.jsonl"))
    sessions = (
        session["messages"]
        for row in read_jsonl(DATA / "bfcl_memory/scenarios.jsonl")
        for session in row["sessions"]
    )
    yield "bfcl_memory", sessions
    yield "qmsum", (_meeting(row) for row in read_jsonl(DATA / "qmsum/meetings.jsonl.gz"))
    yield "irc_ubuntu", (_channel(row) for row in read_jsonl(DATA / "irc_ubuntu/channels.jsonl.gz"))
    yield "pi_sessions", _coding()
    yield "multilingual", _prompts()


def _meeting(row: JsonObject) -> list[JsonObject]:
    return [{"role": "user", "name": who, "content": text} for who, text in row["turns"][40:160]]


def _channel(row: JsonObject) -> list[JsonObject]:
    said = [entry for entry in row["messages"] if entry.get("nick")][:120]
    return [{"role": "user", "name": entry["nick"], "content": entry["text"]} for entry in said]


def _coding() -> Iterator[list[JsonObject]]:
    for path in sorted((DATA / "pi_sessions").glob("*.jsonl")):
        bodies = [entry["message"] for entry in read_jsonl(path) if entry["type"] == "message"]
        for start in range(0, len(bodies) - 40, 60):
            yield bodies[start : start + 40]


def _prompts() -> Iterator[list[JsonObject]]:
    """Three prompts of one language make a talk: nothing but real users' words."""
    by_language: dict[str, list[str]] = {}
    for row in read_jsonl(DATA / "multilingual/prompts.jsonl"):
        by_language.setdefault(row["lang"], []).append(row["text"])
    for texts in by_language.values():
        for start in range(0, min(len(texts), 18) - 2, 3):
            yield [{"role": "user", "content": text} for text in texts[start : start + 3]]


def _talk(origin: str, bodies: list[JsonObject]) -> Talk | None:
    messages = to_messages(bodies)
    found = list(segments(messages, SEGMENT_TOKENS)) or [messages]
    lines = render_transcript(found[0])
    if not lines:
        return None
    tokens = sum(message.tokens for message in found[0])
    language = main_language(line.text for line in lines if line.role is Role.USER)
    notes = summarize(
        SummaryInput(lines, max(tokens // 2, 60), language, None, participants(lines)), count=count_text
    )
    return Talk(origin, language, Covered(lines, tokens, None, language), notes)


def good_cases(talk: Talk) -> Iterator[Case]:
    """Make drafts that may take effect: as the built-in summarizer wrote it, and by faithful paraphrase."""
    yield Case(talk, "good: built-in", talk.notes)
    points = [line for line in SummaryDocument(talk.notes).lines if line.section is not None]
    if any(line.item for line in points):
        yield Case(talk, "good: cited at the end", _rewritten(points, _cited_last))
        yield Case(talk, "good: reordered", _reordered(talk))
        if talk.language == "en":
            yield Case(talk, "good: third person", _rewritten(points, _third_person))


def _rewritten(lines: Sequence[SummaryLine], change: Callable[[str], str]) -> str:
    written = []
    for line in lines:
        is_point = line.item and not line.is_heading and line.section is not Section.IDENTIFIERS
        written.append(f"- {change(line.item)}" if is_point else line.text)
    return "\n".join(written).strip()


def _cited_last(item: str) -> str:
    """Write the number of "[3] Ana (user): words" behind the words."""
    found = re.match(r"\[(\d+)\] ([^:]{1,80}): (.*)\Z", item, re.DOTALL)
    return f"{found[2]}: {found[3].rstrip('.')} [{found[1]}]" if found else item


_PERSONS = (
    (r"\bI'm\b", "they are"),
    (r"\bI've\b", "they have"),
    (r"\bI'll\b", "they will"),
    (r"\bI'd\b", "they would"),
    (r"\bI am\b", "they are"),
    (r"\bI was\b", "they were"),
    (r"\bI\b", "they"),
    (r"\b[Mm]y\b", "their"),
    (r"\bme\b", "them"),
    (r"\b[Mm]ine\b", "theirs"),
    (r"\b[Ww]e\b", "the group"),
    (r"\b[Oo]ur\b", "the group's"),
    (r"\bus\b", "the group"),
    (r"\b[Pp]lease\s+", ""),
    (r"\bwant\b", "wish"),
    (r"\bneed\b", "require"),
    (r"\bhelp\b", "assist"),
    (r"\bget\b", "obtain"),
    (r"\bbig\b", "large"),
    (r"\bok(?:ay)?\b", "fine"),
)


def _third_person(item: str) -> str:
    """Tell "[3] Ana (user): I want it" as "Ana (user) said that they wish it [3]"."""
    found = re.match(r"\[(\d+)\] ([^:]{1,80}): (.*)\Z", item, re.DOTALL)
    if not found:
        return item
    words = found[3].rstrip(".?!")
    for pattern, said in _PERSONS:
        words = re.sub(pattern, said, words)
    return (
        f"{found[2]} said: {words} [{found[1]}]"
        if '"' in words
        else f"{found[2]} said that {words} [{found[1]}]"
    )


def _reordered(talk: Talk) -> str:
    """The same points, each section's in another order."""
    by_section: dict[Section, list[str]] = {}
    for line in SummaryDocument(talk.notes).lines:
        if line.section is not None and line.item and not line.is_heading:
            by_section.setdefault(line.section, []).append(line.text)
    titles = section_titles(talk.language)
    shuffler = random.Random(len(talk.notes))  # noqa: S311
    parts = []
    for section, points in by_section.items():
        shuffler.shuffle(points)
        parts.append("\n".join([f"## {titles[section]}", *points]))
    return "\n\n".join(parts)


def bad_cases(talk: Talk, other: Talk, seed: int) -> Iterator[Case]:
    """Spoil the good notes of a talk in every way that fits them."""
    chance = random.Random(seed)  # noqa: S311
    for kind, change in (("number", _number), ("name", _name), ("date", _date), ("negation", _negation)):
        lines = talk.notes.split("\n")
        places = [place for place, line in enumerate(lines) if line.startswith("- ")]
        chance.shuffle(places)
        for place in places:
            spoiled = change(lines[place], talk, chance)
            if spoiled is not None:
                lines[place] = spoiled
                yield Case(talk, kind, "\n".join(lines), spoiled)
                break
    yield from _other_kinds(talk, other, chance)


def _other_kinds(talk: Talk, other: Talk, chance: random.Random) -> Iterator[Case]:
    titles = section_titles(talk.language)
    foreign = [line for line in other.notes.split("\n") if line.startswith("- [")]
    if len(foreign) >= 3:
        chance.shuffle(foreign)
        yield Case(talk, "another talk's points", "\n".join([talk.notes, *foreign[:3]]), foreign[0])
    system = str(summary_messages(SummaryInput(tuple(talk.covered.lines), 400, talk.language))[0]["content"])
    yield Case(talk, "prompt echo", system)
    hints = "\n".join(re.findall(r"(?m)^## .*\n.*$|^- .*", system)) or system
    yield Case(talk, "prompt's hints", hints)
    yield Case(talk, "task continued", _CONTINUED[chance.randrange(len(_CONTINUED))])
    claim = _CLAIMS.get(talk.language, _CLAIMS["en"])
    line = f"- {claim} [{chance.choice([line.seq for line in talk.covered.lines])}]"
    yield Case(talk, "false claim", f"{talk.notes}\n\n## {titles[Section.DONE]}\n{line}", line)
    yield Case(talk, "one point, 60 times", f"## {titles[Section.OPEN]}\n" + "- to be checked\n" * 60)
    rules = find_rules(talk.covered.lines)
    kept = [line for line in talk.notes.split("\n") if rules and rules[0].text[:40] in line]
    if kept:
        text = "\n".join(line for line in talk.notes.split("\n") if rules[0].text[:40] not in line)
        yield Case(talk, "rule dropped", text, rules[0].text)


_CONTINUED = (
    "Sure! I'm taking care of it now. Let me look at the record first and then I'll get back to you with the values.",
    "All of it looks right. Is there anything else that you would like me to check before I go on?",
    'Next, the record is read. [Assistant tool call]: read_record({"id": "7"})',
    "## Work done\n- I have updated the record and everything was successful.\n\n## Open work\n- Could you please confirm the date?",
    "The request has been processed and the customer has been informed of the change.",
)
_CLAIMS = {
    "en": "the contract was signed and the deposit was paid",
    "de": "der Vertrag wurde abgeschlossen und die Kaution bezahlt",
    "fr": "le contrat a été modifié et la caution a été remboursée",
    "es": "el contrato fue modificado y la fianza fue pagada",
    "pt": "o contrato foi alterado e a caução foi paga",
    "it": "il contratto è stato modificato e la cauzione è stata rimborsata",
    "ru": "договор изменён, и залог оплачен",
    "uk": "договір змінено, заставу оплачено",
    "zh": "合同已修改，押金已支付",
    "ja": "契約書を変更しました。保証金も返金しました",
    "ko": "계약서를 변경했고 보증금을 환불했다",
    "ar": "تم تعديل العقد و تم دفع التأمين",
}


def _number(line: str, talk: Talk, chance: random.Random) -> str | None:
    found = list(re.finditer(r"(?<![\w.,:/\[-])\d{2,6}(?![\w.,:/\]-])", _uncited(line)))
    if not found:
        return None
    hit = chance.choice(found)
    new = str(int(hit[0]) + chance.choice([1, 7, 30, 111]))
    return line[: hit.start()] + new + line[hit.end() :]


def _uncited(line: str) -> str:
    return re.sub(r"\[[^\]]*\]|\(\d+ characters left out\)", lambda found: " " * len(found[0]), line)


_STRANGERS = ("Baumgartner", "Okonkwo", "Fitzgerald", "Yamazaki", "Petrosyan")


def _name(line: str, talk: Talk, chance: random.Random) -> str | None:
    said = line.find(": ") + 2
    found = [hit for hit in re.finditer(r"(?<=[a-z,] )[A-Z][a-z]{3,}(?![\w'])", line) if hit.start() > said]
    codes = list(re.finditer(r"\b(?=\w*\d)(?=\w*[A-Z])[A-Z0-9]{5,}\b", line))
    if not found and not codes:
        return None
    hit = chance.choice(found or codes)
    new = chance.choice(_STRANGERS) if found else hit[0][::-1] + "X"
    return line[: hit.start()] + new + line[hit.end() :]


def _date(line: str, talk: Talk, chance: random.Random) -> str | None:
    found = re.search(r"\b(\d{4})-(\d{2})-(\d{2})\b", line)
    if found:
        day = (int(found[3]) + 9) % 27 + 1
        return line[: found.start()] + f"{found[1]}-{found[2]}-{day:02}" + line[found.end() :]
    found = re.search(
        r"\b(\d{1,2})(?=\.? (?:de )?(?:March|März|mars|marzo|março|марта)|日)|(?<=May )\d{1,2}\b", line
    )
    return line[: found.start()] + str((int(found[0]) + 8) % 27 + 1) + line[found.end() :] if found else None


_NEGATIONS = (
    (r"\b[Nn]ever\b", "always"), (r"\bdo not\b", "do"), (r"\bdon't\b", "do"), (r"\bcannot\b", "can"), (r"\bcan't\b", "can"),
    (r"\bis not\b", "is"), (r"\bwill not\b", "will"), (r"\bniemals\b", "immer"), (r"\bne faut jamais\b", "faut toujours"),
    (r"\bNunca\b", "Siempre"), (r"\bNon mettere mai\b", "Metti sempre"), (r"\bНикогда не клади\b", "Всегда клади"),
    ("绝不能", "必须"), ("載せてはいけない", "載せること"), ("لا تضع", "ضع"),
)  # fmt: skip


def _negation(line: str, talk: Talk, chance: random.Random) -> str | None:
    for pattern, plain in _NEGATIONS:
        if re.search(pattern, line):
            changed = re.sub(pattern, plain, line, count=1)
            return changed.replace(" أبدا", " دائما") if "ضع" in changed else changed
    return None
