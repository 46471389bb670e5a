"""Strong rules of users, never to be lost, told from stories and from words to somebody else."""

# ruff: noqa: E501, RUF001 - tables; the words are written in their languages' own letters

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from context.conversation.transcript import LineKind, RenderedLine
from context.summary.gist import Gist, covers, gist, is_about
from context.summary.others_words import prose_rows, split_foreign, tells_story
from context.summary.plain_rules import behind_question, is_reply, states_fact, states_rule
from context.summary.prompt_injection import revokes_orders
from context.summary.renewals import renews
from context.summary.sections import SummaryDocument
from context.summary.source import cited_seqs
from context.text.cut import split_sentences
from context.text.language import detect_language, same_language
from context.text.marker_words import (
    WITHOUT_BLANKS,
    is_question,
    is_strong_rule,
    markers_of,
    marks_of,
    says_it_ended,
)
from context.types import Role

_CLAUSE = r"(?:\A\W*|[,;:(.\u2013\u2014]\s*|(?<!\w)(?:and|but|or|please|so|also|then|just|you)\s)"
_NOT_ORDERED = (
    "worry|know|think|mind|have|had|believe|see|care|feel|like|want|need|remember|understand|even|really|you|we|i|they|he|she|it|be|"
    "ever|again|a|an|the|my|his|her|your|our|their|nice|good|great|fun|happy|proud|thought|knew|got|been|seen|heard|felt|did|do|was|is|"
    "to|for|in|on|at|of|one|two|so|too|that|this|if|when|because|time|me|us|some|would|could|will|can|should|there|here|about|know|sure|get|say"
)
_ORDERS = (
    "make sure|be sure|ensure|avoid|be careful|refrain|stick to|stick with|keep|limit|use only|return only|answer only|reply only|respond only|"
    "write only|show only|list only|include only|exclude|ask me|ask before|ask first|confirm with me|check with me|wait for my|leave out|"
    "prefer|remember to|remember that you|note that you|stay (?:under|within|below|away|out)"
)
_ENGLISH_ORDER = re.compile(
    rf"{_CLAUSE}(?:do not|don't|dont|never|always|only|under no circumstances)\s+(?!(?:{_NOT_ORDERED})(?!\w))(?!\w+(?:ed|ing|ly|est)(?!\w))[a-z]+"
    rf"|(?:\A\W*|[.;:]\s+|(?<!\w)please\s)(?:(?:please|also|then|just|so|and|but|ok|okay)\s)?(?:{_ORDERS})(?!\w)"
    r"|(?<!\w)(?:you|u)\s(?:(?:all|guys|will|also|only|still)\s)?(?:must(?! have| be | feel|'ve)|mustn't|may not|may only|can only|should (?:never|always|only|not)|shouldn't|are not allowed|aren't allowed|are never|are only|are required|will never|shall)(?!\w)"
    r"|(?<!\w)you (?:need|have) to .{0,80}(?<!\w)(?:before|first|unless)(?!\w)"
    r"|(?<!\w)you (?:can't|cannot|can not) .{0,60}(?:\d|(?<!\w)(?:more than|without|before|until|unless)(?!\w))"
    r"|(?:\A\W*|(?<!\w)please )(?:please )?(?:use|write|answer|reply|respond|speak|format|return|show|list|include|name|call|spell)(?!\w).{0,80}(?<!\w)(?:only|throughout|everywhere|consistently|from now on)(?!\w)"
    r"|(?:\A\W*|(?<!\w)please )leave (?!a |me |us |him |her |for ).{1,60}(?<!\w)(?:untouched|unchanged|alone|as (?:it|they) (?:is|are))(?!\w)"
    r"|\A\W*no (?!thanks|thank|problem|idea|worries|one)\w+.{0,40}(?<!\w)please\W*\Z"
)
_ENGLISH_DUTY = re.compile(
    r"(?<!\w)(?:must(?:n't)?(?! have|n't have|'ve| feel| seem| been)|may not|shall not|should (?:not|never|always)|shouldn't|(?:has|have|needs?) to be(?! (?:great|fun|nice|good|careful|honest))|(?:is|are|be) (?:not allowed|forbidden|prohibited|required|mandatory)|not allowed|forbidden|prohibited|required to|under no circumstances|on no account)(?!\w)"
    r"|(?<!\w)(?:nothing|nobody|no one|no \w+) (?:may|must|should|shall) (?:be|have|leave|see|know|go|get|touch)(?!\w)"
)
_ENGLISH_WISH = re.compile(
    r"(?<!\w)i (?:really )?(?:do not|don't|dont|would not|wouldn't) want (?:you to|any|more than|it to|them to|my|to .{0,60}(?<!\w)(?:before|after|until|without|more than|anything))(?!\w)"
    r"|(?<!if )(?<!whether )(?<!\w)i(?: would|'d) (?:rather (?:you|they|it|we|not)|strongly prefer|prefer)(?!\w)|(?:\A|[.,;] )i (?:strongly )?prefer(?!\w)|(?<!\w)i (?:only want|want only)(?!\w)"
    r"|(?<!\w)(?:for|without|unless|until) (?:my|me|asking me|telling me)(?: explicit| prior)? (?:approval|permission|consent|confirmation|ok)(?!\w)"
)
_ENGLISH_LIMIT = re.compile(
    r"(?<!\w)(?:at most|at least|no more than|not more than|no less than|no later than|maximum|minimum|limit|deadline|budget)"
    r"(?:\W+\w+){0,4}?\W+[$€£¥]?\d"
)
_ENGLISH_STORY = re.compile(
    r"(?<!\w)(?:i|we|i'd|we'd|i've|we've|she|he|they)\s(?:\w+\s){0,2}(?:must|mustn't|has to|have to|need to|needs to|never|always|only|shouldn't|should)(?!\w)"
)
_SUPPOSED = re.compile(
    r"(?<!\w)(?:if|whether|in case) .{0,60}(?<!\w)(?:is|are|be) (?:required|mandatory|allowed|forbidden)"
)
_PAST = re.compile(
    r"(?<!\w)(?:was|were|had|did|got|took|felt|went|said|thought|seemed|made|been|used to)(?!\w)"
)
_ENGLISH_RULE = re.compile(
    r"(?<!\w)(?:the|and|is|are|of|to|you|i|my|it|that|this|with|for|must|not|don't|please|was|have)(?!\w)"
)
_FIGURE = r"\d|[一二三四五六七八九十百千万两]|(?<!\w)(?:one|two|three|four|five|six|ten|zwei|drei|deux|trois|dos|tres|due|tre|dois|três|dva|два|три)(?!\w)"
_QUOTED = re.compile(r"\A\W*[\"“«„「『【《'](?:[^\"”»“」』】》]+)[\"”»“」』】》']\W*\Z|\A\s*>")
_DUTY = re.compile(marks_of("duty"))
_FORBIDDING = re.compile(
    # an order that forbids or limits, at the head of a clause
    r"(?:\A\W*|[,;:.]\s+|(?<!\w)(?:bitte|und|aber|et|mais|y|pero|por favor|e|ma|en|maar|i|ale) )(?:"
    r"(?:verwende|nutze|benutze|schreibe?|antworte|lösche?|ändere|sende|schicke?|gib|nimm|zeige?|nenne|erwähne|buche|kaufe|bestelle|mache?|lasse?|rühre?|fasse?|teile|zahle|stelle|veröffentliche|verschiebe|frage?|[a-zäöüß]+en sie)(?!\w).{0,80}(?<!\w)(?:keine?[mnrs]?|nicht|nichts|nie|niemals|nur|immer|höchstens|maximal|vorher|zuerst)(?!\w)|"
    r"(?:ne |n')\w+.{0,40}(?<!\w)(?:pas|jamais|rien|plus|aucune?|personne)(?!\w)|(?:ne |n')\w+(?:e|ez|ons) rien|"
    r"no (?:me |le |les |lo |la |los |las |te |se |nos )?(?:hagas|digas|pongas|vayas|escribas|uses|abras|pidas|compartas|añadas|vendas|incluyas|metas|traigas|salgas|envíen?|borren?|eliminen?|usen?|utilicen?|compartan?|toquen?|cambien?|modifiquen?|mencionen?|paguen?|reserven?|compren?|digan?|hagan?|pongan?|"
    r"borres|toques|envíes|llames|olvides|cambies|compres|pagues|menciones|modifiques|elimines|mandes|aceptes|reserves|publiques|ejecutes|despliegues|apagues|reinicies|contestes|respondas|preguntes|expliques|inventes|repitas|muestres|quites|dejes|pases|gastes|cites|entregues|firmes|contactes|subas|descargues|instales|canceles|confirmes|avises|reveles|cuentes|hables|muevas|toméis|empieces|actives|desactives|sobrescribas|reembolses|muestren?|revele|publiquen?|gasten?)(?!\w)|"
    r"não (?:me |lhe |o |a |os |as |se )?(?:faça|diga|ponha|escreva|inclua|venda|abra|permita|responda|peça|mexa|esqueça|(?!pode|sabe|deve|consegue|quer|parece|vale|acontece|existe|teve|houve|esteve|disse|conhece|entende|de(?!\w)|que|me(?!\w)|lhe|se(?!\w)|podem|devem|sabem|tem|têm|é)\w+em?)(?!\w)|"
    r"(?:stuur|gebruik|verwijder|wijzig|schrijf|antwoord|deel|noem|betaal|boek|koop|raak|laat|zet|maak|vertel|publiceer)(?!\w).{0,60}(?<!\w)(?:niet|nooit|geen|niets|alleen|altijd|hoogstens)(?!\w)|"
    r"(?!jag |vi |han |hon |det |de |den |är |var |har |kan |man |jeg |hun |er )\w+a? (?:\w+ )?(?:aldrig|aldri)(?!\w)|"
    r"(?:nepos\w+|nemaž\w*|neměň\w*|nepouží\w+|nu (?:trimite|șterge|schimba|folosi|modifica|spune|cumpăra|plăti)\w*|ne (?:küldj|töröl|használ|módosít|írj)\w*)(?!\w)"
    r")"
    # words that forbid anywhere
    r"|(?<!\w)(?:ohne (?:meine|unsere|vorherige) (?:\w+ )?(?:freigabe|zustimmung|erlaubnis|genehmigung|einwilligung)|bevor du|sans (?:mon|ma|notre|nos) (?:accord|permission|autorisation|consentement|aval)|sin (?:mi|nuestro|preguntarme|consultarme|avisarme)|sem (?:a minha|minha|o meu|meu|me perguntar|me avisar)|"
    r"senza (?:il mio|la mia|chiedermi|avvisarmi)|zonder mijn|bez (?:mojej|mojego|naszej|mého|moje|моего|моей|нашего|мого|моєї)|без (?:моего|моей|нашего|мого|моєї)|utan (?:mitt|min|att fråga)|ilman (?:lupaani|minun)|fără (?:acordul|permisiunea)|tanpa (?:izin|persetujuan)|"
    r"(?:iznim|onayım|rızam) olmadan|bana sormadan|jangan|dilarang|wajib|не \w+(?:й|йте|ьте)|không được|đừng|cấm|får (?:inte|aldrig)|må ikke|älä|älkää|ei saa|nesmí\w*|tilos|nu ai voie|nie wolno)(?!\w)"
    r"|未经(?:我|我们)|没有我的(?:同意|允许|许可)|(?:私|わたし|僕)の(?:許可|同意|承認)なし|제 (?:동의|허락|허가) 없이|بدون (?:موافقتي|إذني)|بلا إذني|בלי (?:אישור|רשות) שלי|ללא אישורי|मेरी (?:अनुमति|इजाज़त) के बिना"
    r"|\A\W*\w+-(?:moi|nous|le|la|les|lui|leur|y|en)(?!\w).{0,40}(?<!\w)(?:toujours|jamais|avant|d'abord|pas)(?!\w)"
    r"|(?<!\w)(?:asla|hiç|kimse\w*|hiçbir\w*)(?!\w).{0,40}m[ae](?:y[ıi]n(?:[ıi]z)?)?(?=\W*\Z)"
    r"|(?<!\w)(?:her zaman|mutlaka|önce)(?!\w).{0,40}(?<!\w)(?:sor|yaz|kullan|gönder|cevapla|bildir|danış|kaydet|söyle)(?:[uüıi]n(?:[uüıi]z)?)?(?=\W*\Z)"
    r"|(?:항상|반드시|꼭|먼저).{0,40}(?:세요|십시오|줘)[.!]?\Z|(?:हमेशा|पहले|केवल|सिर्फ).{0,60}(?:ें|िए|िएगा|ो)[।!.]?\Z|मत [^\s।]{1,20}(?:ो|ओ|ें|ना|िए|इए)(?=[।!.\s]|\Z)"
    r"|(?:\A|\s)(?:اسأل|استخدم|اكتب|أرسل|تحقق|أخبر|راجع)\w*.{0,40}(?:دائما|فقط|أولا|قبل)"
)
_LIMITING = re.compile(
    rf"(?<!\w)(?:{'|'.join(markers_of('limit').values())})\s(?:\w+\s)?(?:\d|\w+)"
    r"|(?:不超过|不多于|不少于|不得超过)\s?[\d一二三四五六七八九十百千万两]"
)
_EVER = re.compile(rf"\A\W*(?:\w+[\s,]+){{0,2}}(?:{'|'.join(markers_of('always').values())})(?!\w)")
_WEAK = re.compile(marks_of("weak"))
_WEAK_FIGURE = re.compile(
    rf"(?:{marks_of('weak')})\W*(?:\w+\W+){{0,5}}?(?:{_FIGURE})|(?:{_FIGURE}).*(?:{marks_of('weak')})\W*\Z"
)
_ADDRESS = re.compile(marks_of("address", anywhere=WITHOUT_BLANKS))
_STORY_MARK = re.compile(marks_of("story", anywhere=WITHOUT_BLANKS))
_MOST_CHARS = 1_000


_CLAUSES = re.compile(r"[,;:—–，；：、،]\s*|\.\s+")
_ASIDE = re.compile(r",?\s*должно быть\s*,")


def is_addressed_rule(sentence: str) -> bool:
    """Tell whether a sentence asks somebody to keep to something: an order, a duty, a limit, a refusal.

    "That must have been nice" and "I always do" hold the words of rules and are no rules.

    Args:
        sentence: One sentence, in any language.

    Returns:
        True for an imperative that forbids or demands, a duty of "you" or of a thing, a wish for a limit.
    """
    sentence = behind_question(sentence[:_MOST_CHARS])
    said = sentence.casefold().replace("’", "'")
    is_plain = states_rule(said)
    if (
        not (is_plain or _is_rule(said))
        or _QUOTED.search(said)
        or revokes_orders(said)
        or states_fact(sentence)
    ):
        return False
    if is_plain or not tells_story(said):
        return True
    clauses = _CLAUSES.split(_ASIDE.sub(" ", said))
    return len(clauses) > 1 and any(_is_order(clause) for clause in clauses if not tells_story(clause))


def is_order_in_other_language(sentence: str, *, strictly: bool = False) -> bool:
    """Tell whether a sentence in a language but English asks somebody to keep to something.

    Args:
        sentence: One sentence.
        strictly: Whether only an order with a "not", a "never" or an "only" counts, as in "No envíes nada".

    Returns:
        False for English, tales and orders to forget all orders.
    """
    said = sentence[:_MOST_CHARS].casefold().replace("’", "'")
    if len(_ENGLISH_RULE.findall(said)) > 1:
        return False
    if _FORBIDDING.search(said) is None and (strictly or not _is_rule_of_others(said)):
        return False
    return not tells_story(said) and not revokes_orders(said)


def _is_rule(said: str) -> bool:
    return _is_english_rule(said) or (len(_ENGLISH_RULE.findall(said)) <= 1 and _is_rule_of_others(said))


def _is_order(clause: str) -> bool:
    """Tell whether a clause beside a tale is an order by itself."""
    return any(order.search(clause) for order in (_ENGLISH_ORDER, _FORBIDDING))


def _is_english_rule(said: str) -> bool:
    if _ENGLISH_ORDER.search(said) or _ENGLISH_WISH.search(said):
        return True
    if any(story.search(said) for story in (_ENGLISH_STORY, _PAST, _SUPPOSED)):
        return False
    if _ENGLISH_DUTY.search(said):
        return True
    return _ENGLISH_LIMIT.search(said) is not None


def _is_rule_of_others(said: str) -> bool:
    is_addressed = _ADDRESS.search(said) is not None
    if _FORBIDDING.search(said) or _LIMITING.search(said):
        return True
    if _STORY_MARK.search(said) and not is_addressed:
        return False
    if _DUTY.search(said) or (_EVER.search(said) and not is_reply(said)):
        return True
    return _WEAK.search(said) is not None if is_addressed else _WEAK_FIGURE.search(said) is not None


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
_RULE_CLAUSE = re.compile(r"[,;:—–，；：、]\s*|(?<=\s)(?:and|but|und|aber|et|mais|y|pero|e|ma|но|и|а)\s")
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
    if len(sentence) > _RULE_CHARS or is_question(sentence) or states_fact(sentence):
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


def lost_rules(
    notes: SummaryDocument, lines: Sequence[RenderedLine], *, most: int = MOST_RULES
) -> list[UserRule]:
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
    points = [line.item for line in notes.lines if line.item]
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
    clauses = _RULE_CLAUSE.split(sentence)
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
        renews(later, rule.text)
        or (is_about(gist(later), own, least=0.6) and says_it_ended(later, about=rule.text))
        for seq, later in said
        if seq > rule.seq
    )
