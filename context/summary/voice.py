"""Voice of a summary: notes report about others, name the speaker, and hold no conversation."""

# ruff: noqa: E501, RUF001 - tables; words in several scripts

import re
from collections.abc import Iterator, Mapping, Sequence

from context.conversation.transcript import LineKind, RenderedLine, transcript_text
from context.summary.sections import NO_SUMMARY, SummaryDocument

_POINT = re.compile(
    r"(?P<start>\s*(?:[-*•·]\s+)?(?:\*\*)?\[\s*(?P<seq>\d{1,9})(?:\s?·[^\[\]\n]{1,30})?\s*\](?:\*\*)?\s*)"
    r"(?P<label>[^\s\[\]:][^\[\]:\n]{0,79}):(?=\s)"
)
_LABEL_ROLE = re.compile(r"\s*\(\w+\)\Z")


def credit_speakers(
    summary: SummaryDocument, lines: Sequence[RenderedLine], previous: SummaryDocument = NO_SUMMARY
) -> SummaryDocument:
    """Name the writer of message 12 in each point of the form "[12] Ana (user): …".

    No other form is read: this form claims to be the message's own line, and a name elsewhere may belong to
    a person spoken about. A label of no known speaker is left unchanged.

    Args:
        summary: The summary, cleaned.
        lines: The transcript covered by the summary.
        previous: The earlier notes; their points name the writers of the messages cited there.

    Returns:
        The summary; a second run changes nothing.
    """
    speakers = _speakers(lines, previous)
    known = {_name(label) for label in speakers.values()}
    written: list[str] = []
    for text in summary.text.split("\n"):
        point = _POINT.match(text)
        right = speakers.get(int(point["seq"])) if point else None
        if point and right and _name(point["label"]) in known - {_name(right)}:
            written.append(f"{point['start']}{right}{text[point.end('label') :]}")
        else:
            written.append(text)
    credited = "\n".join(written)
    return summary if credited == summary.text else SummaryDocument(credited)


def read_credits(summary: str) -> Iterator[tuple[int, str, str]]:
    """Read the points written like lines of the transcript.

    Args:
        summary: A summary.

    Yields:
        The number of the message, the label of the speaker, and the spoken text.
    """
    for text in summary.split("\n"):
        if point := _POINT.match(text):
            yield int(point["seq"]), point["label"].strip(), text[point.end() + 1 :]


def _speakers(lines: Sequence[RenderedLine], previous: SummaryDocument) -> Mapping[int, str]:
    """Map each message to its writer; the transcript takes precedence over older notes."""
    told = {seq: label for seq, label, _ in read_credits(previous.text)}
    read = {line.seq: line.speaker for line in lines if line.kind is not LineKind.RESULT}
    return {**told, **read}


def _name(label: str) -> str:
    return _LABEL_ROLE.sub("", label.strip()).casefold()


_LINE = re.compile(
    r"\s{0,3}(?P<bullet>(?:[-*•]|\d{1,3}[.)])\s+)?\[(?P<seq>\d{1,9})(?:\s?·[^\[\]\n]{1,30})?\]\s++(?P<speaker>[^\n:\[\]]{1,80}?)"
    r"(?::\s+|\s+calls\s+|\s+->\s+(?:ok|error):\s*)(?P<words>\S.*)\Z"
)
_ROLE_NAME = re.compile(
    r"(?:.*\()?(?:user|assistant|system|developer|tool|function|human|ai|model)\)?", re.IGNORECASE
)
_SOURCE = re.compile(r"\[\s*\d{1,9}[\d\s,;–-]*(?:·[^\[\]\n]{1,30})?\]")
_START = r"(?:\A|(?<=[.!?;:。！？；：])|(?<=[-–—]\s))[\s>*_-]{0,40}+"
"""Start of a sentence, with a bounded number of marks before; without a bound, each mark would be scanned again."""
_FIRST_PERSON = re.compile(
    rf"{_START}(?:(?:[Ii]ch|[Yy]o|[Ee]u|[Ii]o|[Ii]k|[Яя])\s+\w|[Jj]e\s+\w|[Jj]['’]\w"
    r"|(?:[Ww]ir|[Nn]ous|[Nn]osotros|[Nn]ós|[Nn]oi|[Ww]ij|[Мм]ы|[Мм]и)\s+\w"
    r"|(?:[Hh]e|[Hh]emos)\s+\w+(?:ado|ido|cho|sto)(?!\w)|(?:[Hh]o|[Aa]bbiamo)\s+\w+(?:ato|ito|uto)(?!\w)"
    r"|(?:I['’]?(?:m|ve|ll|d)|[Ww]e|[Ll]et me|[Ll]et['’]s|[Mm]y)\s+[a-z]"
    r"|(?:好的|当然|那么|接下来)?[,，、]?(?:我|咱)|(?:私|僕|俺)(?:たち|達)?[はが]|(?:나는|저는|제가|우리는|أنا|نحن|אני|אנחנו|मैं|हम)\s)"
    r"|(?<![\w/-])(?<!Phase )(?<!Type )(?<!Part )(?<!Class )(?<!War )I(?:['’](?:m|ve|ll|d))?\s+"
    r"(?!is\b|and\b|or\b|of\b|to\b|in\b)[a-z]+",
)
_TO_READER = re.compile(
    rf"{_START}(?:(?:would|do|could|can|will|are|have|did) you\b|shall i\b|should i\b|may i\b|how (?:can|may) i\b|let me (?:know|check|look|see)\b"
    r"|please (?:provide|confirm|let me|share|tell me|feel free)\b|is there anything else\b|(?:sure|certainly|of course|absolutely)[!,.]"
    r"|you(?:['’]re welcome| can now| are all set)\b|here(?:['’]s| is| are) (?:the|your)\b|i hope\b|thank you for\b"
    r"|(?:möchten|könnten|können|wollen) sie\b|soll ich\b|gerne[!,.]|voulez-vous\b|pouvez-vous\b|souhaitez-vous\b|bien sûr[!,.]"
    r"|¿?(?:quiere|quieres|desea|deseas|puede|puedes) (?:que|usted|confirmar|darme)\b|claro[!,.]|deseja que\b|vuole che\b|certo[!,.]"
    r"|хотите\b|желаете\b|конечно[!,.]|您(?:是否|想|需要|可以)|请问|请(?:提供|告诉我|确认)|当然[!！，]|もちろん(?:です)?[!！。、]|お知らせください"
    r"|원하시|물론(?:입니다)?[!.]|هل تريد|بالطبع[!،.])",
    re.IGNORECASE,
)
_QUOTES = re.compile(
    r"`[^`\n]*`|\"[^\"\n]*\"|“[^“”\n]*”|«[^«»\n]*»|„[^„“”\n]*[“”]|「[^「」\n]*」|『[^『』\n]*』|(?<!\w)[‘'][^‘’'\n]{3,}[’'](?!\w)"
)
_CALL_MARK = re.compile(
    r"\[(?:assistant |model )?(?:tool|function)[ _-]?(?:call|use|result)s?\b[^\]\n]{0,60}\]", re.IGNORECASE
)
_CALL = re.compile(r"(?<![\w.])([A-Za-z_][\w.-]{1,60})\(([^()\n]{0,400})\)?")
_LABEL = re.compile(r"\s*([^:：\n]{1,80}?)[:：]\s*\S")
_NAME = re.compile(r"\s*\**[A-ZÀ-ÞА-ЯЁ][\w.'-]*(?:\s[A-ZÀ-ÞА-ЯЁ][\w.'-]*){0,3}(?:\s\(\w+\))?\**")
"""A capitalized name, taken for a speaker if no transcript names the speakers."""

_SAID_CHARS = 40
"""Length of a message's beginning that identifies a line as a repetition."""


def plays_conversation(
    summary: SummaryDocument, lines: Sequence[RenderedLine], previous: SummaryDocument = NO_SUMMARY
) -> bool:
    """Tell whether a summary makes up lines of the conversation.

    Args:
        summary: The summary, cleaned.
        lines: The transcript covered by the summary.
        previous: The earlier summary.

    Returns:
        True if a line, not a point, quotes a speaker with words absent from the message, or if a point reports
        a message that does not exist yet.
    """
    last = max((line.seq for line in lines), default=None)
    if last is None:
        return False
    speakers = {line.speaker for line in lines}
    known = {line.strip() for line in previous.text.splitlines()}
    for line in (one.text for one in summary.prose):
        found = _LINE.match(line)
        if not found or line.strip() in known or not _is_speaker(found["speaker"], speakers):
            continue
        if int(found["seq"]) > last or not (found["bullet"] or _is_said(found, lines)):
            return True
    return False


def speaks_as_itself(summary: SummaryDocument, lines: Sequence[RenderedLine] = ()) -> bool:
    """Tell whether a summary says "I" or "we" in nobody's name, as if a user or the model spoke.

    Args:
        summary: The summary, cleaned.
        lines: The transcript: words of a cited message may stand unchanged.

    Returns:
        True if a point does so outside of quotes, without a speaker's label.
    """
    return any(_FIRST_PERSON.search(said) for said in _own_words(summary, lines))


def speaks_to_reader(summary: SummaryDocument, lines: Sequence[RenderedLine] = ()) -> bool:
    """Tell whether a summary answers or asks a user, like the assistant of the conversation.

    Args:
        summary: The summary, cleaned.
        lines: The transcript: words of a cited message may stand unchanged.

    Returns:
        True if a point does so outside of quotes, without a speaker's label.
    """
    speakers = {line.speaker.casefold() for line in lines} | {
        "user",
        "assistant",
        "the user",
        "the assistant",
    }
    own = (said for said in _own_words(summary, lines) if not _tells_of(said, speakers))
    return any(_TO_READER.search(said) for said in own)


def _tells_of(said: str, speakers: set[str]) -> bool:
    """Say whether a point begins with a speaker's name, and so reports about the speaker."""
    plain = said.casefold().lstrip("*_ ")
    return any(plain.startswith(f"{speaker} ") for speaker in speakers if speaker)


def imitates_call(
    summary: SummaryDocument, lines: Sequence[RenderedLine], previous: SummaryDocument = NO_SUMMARY
) -> bool:
    """Tell whether a summary writes down a tool call absent from the transcript.

    Args:
        summary: The summary, cleaned.
        lines: The transcript covered by the summary.
        previous: The earlier summary.

    Returns:
        True for a mark such as "[Assistant tool call]", or a call with arguments made by nobody.
    """
    made = _letters(f"{transcript_text(lines)}\n{previous.text}")
    written = [line.text for line in summary.prose]
    if any(_CALL_MARK.search(line) and _letters(line) not in made for line in written):
        return True
    tools = {line.text.split("(", 1)[0] for line in lines if line.kind is LineKind.CALL}
    for line in written:
        for found in _CALL.finditer(_SOURCE.sub("", line)):
            has_arguments = found[2].lstrip().startswith("{") or (
                found[1] in tools and re.search(r"[=:]", found[2])
            )
            told = _letters(found[0].split("…")[0])
            if has_arguments and told not in made:
                return True
    return False


def _letters(text: str) -> str:
    return re.sub(r"[\W_]+", "", text.casefold())


def _own_words(summary: SummaryDocument, lines: Sequence[RenderedLine]) -> Iterator[str]:
    """Yield the words of points outside quotes, without labelled points and repeated messages."""
    speakers = {line.speaker.casefold() for line in lines}
    names = {re.sub(r"\s*\(\w+\)\Z", "", speaker) for speaker in speakers}
    said = {line.seq: "" for line in lines}
    for line in lines:
        said[line.seq] += " " + _plain(line.text)
    for item in (line.item for line in summary.points):
        if _is_labelled(item, speakers | names):
            continue
        words = _QUOTES.sub('""', _SOURCE.sub(" ", item)).strip()
        cited = {int(number) for source in _SOURCE.findall(item) for number in re.findall(r"\d+", source)}
        told = _plain(_SOURCE.sub("", item)).rstrip(".")
        if not any(told in said.get(seq, "") for seq in cited):
            yield words


def _is_labelled(item: str, speakers: set[str]) -> bool:
    found = _LABEL.match(_SOURCE.sub("", item))
    if not found:
        return False
    name = found[1].strip("*_ ").casefold()
    last = re.split(r"\s(?:said|says|asked|wrote)\b", name)[0]
    if name in speakers or last in speakers or _ROLE_NAME.fullmatch(name) is not None:
        return True
    return not speakers and _NAME.fullmatch(found[1]) is not None


def _is_speaker(name: str, speakers: set[str]) -> bool:
    plain = name.strip("*_ ")
    return plain in speakers or _ROLE_NAME.fullmatch(plain) is not None


def _is_said(found: re.Match[str], lines: Sequence[RenderedLine]) -> bool:
    words = _plain(found["words"])[:_SAID_CHARS]
    of_message = (line for line in lines if line.seq == int(found["seq"]))
    return any(words in _plain(line.text) for line in of_message)


def _plain(text: str) -> str:
    return " ".join(text.casefold().split()).strip("\"'“”«»` ")
