# ruff: noqa: E501, RUF001 - tables; the words are written in their languages' own letters
"""Strong rules of users, never to be lost by any writer of notes."""

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from context.conversation.transcript import LineKind, RenderedLine
from context.summary.addressed import is_order_in_other_language
from context.summary.foreign import split_foreign
from context.summary.injection import revokes_orders
from context.summary.pasted import prose_rows
from context.summary.sections import read_lines
from context.summary.similarity import Gist, covers, gist, is_about
from context.summary.source import cited_seqs
from context.summary.stories import tells_story
from context.text.cut import split_sentences
from context.text.language import detect_language, same_language
from context.text.marker_words import is_question, is_strong_rule, says_it_ended
from context.types import Role

MOST_RULES = 12
"""Most rules demanded, the latest first: a user who forbids more in one stretch no longer states rules."""

_RULE_CHARS = 240
_PASTED_CHARS = 1_500
_MARKUP = re.compile(r"[{}\[\]<>\\=|;$#]|\w\(|://|\w_\w|\w\.\w+\(")
_MARKUP_SHARE = 0.03
_LEAST_WORDS = 3
_ADDRESSED = re.compile(
    r"(?:\A|[,;:.!–—(]\s?|(?<!\w)(?:and|but|so|please|also|then|just|you(?:'ll| will)?|must|und|aber|bitte|et|mais|y|pero|e|ma|en|maar|i|ale|ve|и|но|а|та|але)\s)"
    r"(?:please\s|bitte\s)?(?:never|always|do not|don't|under no circumstances|on no account|nie(?:mals)?|immer|auf keinen fall|keinesfalls|jamais|ne\s|toujours|nunca|jamás|siempre|sempre|no\s|não\s|non\s|mai(?= \w+[aei]re(?!\w))|nooit|altijd|nigdy|zawsze|"
    r"asla|her zaman|никогда|всегда|ни в коем случае|ніколи|завжди)(?=\W|\Z)|"
    r"(?<!\w)(?:you|it|they|this|that|there|no one|nobody|everyone|everything|anything|nothing|\w+s?)\s(?:must|may|shall)\s(?:not|never|always|be|stay|remain|ask|keep|use|have|go|only)(?!\w)|"
    r"(?<!\w)(?:not allowed|forbidden|is prohibited|are prohibited|(?:is|are) never|(?:is|are) (?:always|only) to|must never|must not|mustn't)(?!\w)|(?:\A\W*|[,;.] |(?<!\w)(?:please|and|so) )(?:ask|check with) (?:me|us) (?:before|first)(?!\w)|"
    r"(?<!\w)(?:darf|dürfen|darfst|dürft)\s(?:\w+\s){0,6}?(?:nicht|nie|niemals|kein\w*|nur)(?!\w)|(?<!\w)(?:muss|müssen|musst)\s(?:\w+\s){0,6}?(?:immer|bleiben|werden)(?!\w)|(?<!\w)(?:verboten|interdit\w*|prohibid[oa]s?|proibid[oa]s?|vietat[oaie]|verboden|zabronion\w+|yasak\w*)(?!\w)|"
    r"(?<!\w)(?:il )?ne (?:faut|doit|doivent|devez|dois) (?:jamais|pas)(?!\w)|(?<!\w)(?:no|não|non) (?:debe|debes|deben|deve|devem|devi|devono|può|pode|puede)\w*(?!\w)|"
    r"(?<!\w)(?:нельзя|запрещено|запрещается|обязательно|не \w+(?:й|йте|ь|ьте)|не можна|заборонено)(?!\w)|"
    r"必须|禁止|不得|绝不|切勿|请勿|一律|必ず|絶対|てはいけ|てはならない|ないでください|반드시|금지|절대|지 마|지 말|يجب|ممنوع|أبدا|لا ت|חייב|אסור|לעולם לא|אל ת|कभी नहीं|कभी न|हमेशा|अनिवार्य|मत "
)
_TOLD = re.compile(
    r"(?<!\w)(?:i|we|he|she|they)(?:'(?:m|ve|d|ll|re))?\s(?:have |had |will |would |could |can |was |were |am |are |also |just |really )*(?:never|always|must(?:'ve| have)?|don't|didn't|do not|did not|cannot|can't)(?!\w)|"
    r"(?<!\w)(?:never|always) \w+ed(?!\w)|must(?:'ve| have| be (?:nice|great|hard|fun|exciting))(?!\w)|(?<!\w)(?:never|always) (?:been|had|thought|heard|seen|knew|wanted|loved|liked|felt|a)(?!\w)|never ?mind|"
    r"(?<!\w)(?:don't|do not) (?:know|think|remember|see|understand|worry|have|want|need|like|mind|get me wrong|forget that)(?!\w)"
)
_CLAUSE = re.compile(r"[,;:—–，；：、]\s*|(?<=\s)(?:and|but|und|aber|et|mais|y|pero|e|ma|но|и|а)\s")
_QUOTE = re.compile(r"\s{0,3}>")


@dataclass(frozen=True)
class UserRule:
    """A strong rule, as stated by a user.

    Attributes:
        seq: The message.
        speaker: The speaker of the rule.
        text: The sentence, on one line.
    """

    seq: int
    speaker: str
    text: str

    @property
    def point(self) -> str:
        """The rule as a point of notes: verbatim, with its number."""
        return f"[{self.seq}] {self.speaker}: {self.text}"


def find_rules(lines: Sequence[RenderedLine], *, most: int = MOST_RULES) -> list[UserRule]:
    """List the strong rules stated by users and never lifted afterwards.

    A rule forbids or demands without reserve, and is addressed to the worker of the task. Questions, tales
    ("I never liked it"), quotes, pasted code and logs, and orders to forget all orders are not rules.

    Args:
        lines: A transcript.
        most: The most rules; the latest stay.

    Returns:
        The rules in order, each once.
    """
    users = [line for line in lines if line.role is Role.USER and line.kind is LineKind.TEXT]
    found: dict[str, UserRule] = {}
    said: list[tuple[int, str]] = []
    for line in users:
        for sentence in _own_sentences(line.text):
            said.append((line.seq, sentence))
            if is_rule(sentence):
                plain = " ".join(sentence.split())
                found.setdefault(gist(plain).plain, UserRule(line.seq, line.speaker, plain))
    rules = [rule for rule in found.values() if not _is_lifted(rule, said)]
    return rules[-most:]


def is_rule(sentence: str) -> bool:
    """Tell whether a sentence is a strong rule addressed to the worker of the task."""
    folded = sentence.casefold().replace("’", "'")
    if len(sentence) > _RULE_CHARS or is_question(sentence):
        return False
    if not is_strong_rule(sentence) and not is_order_in_other_language(sentence, strictly=True):
        return False
    if len(folded.split()) < _LEAST_WORDS and folded.isascii():
        return False
    if len(_MARKUP.findall(sentence)) > _MARKUP_SHARE * len(sentence) or revokes_orders(sentence):
        return False
    if _TOLD.search(folded) is not None or tells_story(folded):
        return False
    return _ADDRESSED.search(folded) is not None or is_order_in_other_language(sentence)


def lost_rules(notes: str, lines: Sequence[RenderedLine], *, most: int = MOST_RULES) -> list[UserRule]:
    """List the strong rules of the users missing from notes.

    Args:
        notes: A draft of notes.
        lines: The transcript covered by the draft.
        most: The most rules that count.

    Returns:
        The rules not fully stated by any point.
    """
    rules = find_rules(lines, most=most)
    if not rules:
        return []
    points = [line.item for line in read_lines(notes) if line.item]
    whole = " ".join(gist(point).plain for point in points)
    return [rule for rule in rules if not _stands(rule, points, whole)]


def _own_sentences(text: str) -> Iterator[str]:
    """Split a user's own words; quoted lines, mails and a long paste belong to somebody else."""
    own, _ = split_foreign(text)
    kept = "\n".join(row for row in prose_rows(own) if not _QUOTE.match(row))
    sentences = split_sentences(kept)
    if len(text) > _PASTED_CHARS:
        sentences = [*sentences[:8], *sentences[-4:]]
    yield from sentences


_SAID_SHARE, _RETOLD_SHARE = 0.7, 0.4
_PREFIX = 4


def _stands(rule: UserRule, points: Sequence[str], whole: str) -> bool:
    if any(_is_held(gist(text), points, whole) for text in (rule.text, _core(rule.text)) if text):
        return True
    own = gist(_core(rule.text) or rule.text)
    cited = (point for point in points if rule.seq in cited_seqs(point))
    return any(_is_retold(own, rule.text, point) for point in cited)


def _is_retold(own: Gist, rule: str, point: str) -> bool:
    """Say whether a point with a citation retells the rule, in other word endings or another language."""
    told = gist(point)
    if own.negates != told.negates:
        return False
    if not same_language(detect_language(rule), detect_language(point)):
        return True
    starts = {term[:_PREFIX] for term in told.terms}
    shared = sum(word in told.terms or word[:_PREFIX] in starts for word in own.words)
    return shared >= _RETOLD_SHARE * len(own.words)


def _core(sentence: str) -> str:
    """Extract the clause that forbids or demands from a sentence, if the clause says enough by itself."""
    clauses = _CLAUSE.split(sentence)
    strong = [clause for clause in clauses if is_strong_rule(clause)]
    if len(clauses) < 2 or not strong:  # noqa: PLR2004
        return ""
    core = gist(strong[0])
    return strong[0].strip() if len(core.words) + len(core.names) > 1 else ""


def _is_held(own: Gist, points: Sequence[str], whole: str) -> bool:
    if own.plain.strip(" .!。") in whole:
        return True
    for point in points:
        told = gist(point)
        if covers(told, own):
            return True
        shared = len(own.words & told.terms)
        if own.words and shared >= _SAID_SHARE * len(own.words) and own.negates == told.negates:
            return True
    return False


def _is_lifted(rule: UserRule, said: Sequence[tuple[int, str]]) -> bool:
    own = gist(rule.text)
    return any(
        is_about(gist(later), own, least=0.6) and says_it_ended(later, about=rule.text)
        for seq, later in said
        if seq > rule.seq
    )
