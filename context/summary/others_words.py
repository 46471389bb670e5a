"""Words of others in a user's message: a pasted mail, code, logs, traces; and tales with words of rules."""

# ruff: noqa: E501, RUF001 - a table; the words are written in their languages' own letters

import re
from collections.abc import Iterable, Iterator, Sequence

from context.conversation.transcript import LineKind, RenderedLine
from context.languages import by_language
from context.summary.prompt_injection import revokes_orders
from context.text.cut import split_sentences
from context.text.language import UNKNOWN, detect_language, guess_language, main_language
from context.text.marker_words import is_question
from context.types import Role

_MAIL = [*by_language(lambda one: one.mail).values()]


def _any_of(kind: str) -> str:
    words = {word for mail in _MAIL for word in mail[kind].split("|")}
    return "|".join(re.escape(word) for word in sorted(words, key=len, reverse=True))


_KINDS = ("from", "sent", "subject")
_HEADER = re.compile(
    r"[\s>*_]*(?:" + "|".join(f"(?P<{kind}>{_any_of(kind)})" for kind in _KINDS) + r")[\s*_]*[:：][\s*_]*\S"
)
_ADDRESS = re.compile(r"[^\s<>@:]@[\w-]+(?:\.[\w-]+)+")
_WROTE = re.compile(rf"(?<!\w)(?:{_any_of('wrote')})(?!\w)|(?:写道|寫道|書きました)")
_FORWARDED = re.compile(
    rf"(?:[-_=*<>~#\s]{{2,}}|\w+ )?(?:{_any_of('forwarded')})(?:[-_=*<>~#\s]{{2,}}|\s*[:：])?\s*\Z"
)
_FIGURES = re.compile(r"\d+")

_HEADER_ROWS = 8
"""Most rows of a mail's head."""

_ROW_CHARS = 300
"""Characters read of a row; a line of a mail's head is shorter."""

_LEAST_FIGURES = 2
"""Figures of a day, in a line that says who wrote."""


def split_foreign(text: str) -> tuple[str, str]:
    """Split a user's message into the user's own words, and the words of others.

    A mail is told by its head, by the line above it ("On 3 May 2026, Bea wrote:") or by a title ("Forwarded
    message"). It goes to the end of the message, but for a last paragraph that asks something. After
    words that take back a model's orders nothing is the user's own.

    Args:
        text: A message.

    Returns:
        Both parts; the second one is empty where all is the user's own.
    """
    rows = text.split("\n")
    start = next((place for place in range(len(rows)) if _begins_mail(rows, place)), None)
    own, foreign = text, ""
    if start is not None:
        end = _end_of_mail(rows, start)
        own = "\n".join([*rows[:start], *rows[end:]])
        foreign = "\n".join(rows[start:end])
    if not revokes_orders(own):
        return own, foreign
    taken_back = next((one for one in split_sentences(own) if revokes_orders(one)), own)
    place = max(own.find(taken_back), 0)
    return own[:place], f"{own[place:]}\n{foreign}"


def _begins_mail(rows: Sequence[str], place: int) -> bool:
    row = rows[place][:_ROW_CHARS].casefold()
    if _HEADER.match(row):
        return _is_head(rows[place : place + _HEADER_ROWS])
    if row.rstrip().endswith((":", "：")):
        above = rows[place - 1].casefold() if place and len(_FIGURES.findall(row)) < _LEAST_FIGURES else ""
        said = f"{above} {row}"
        dated = len(_FIGURES.findall(said)) >= _LEAST_FIGURES
        if dated and (_ADDRESS.search(said) or _WROTE.search(row)):
            return True
    return _FORWARDED.match(row.strip()) is not None


def _is_head(rows: Sequence[str]) -> bool:
    """Say whether rows hold two kinds of headers, or a sender with an address: "From: Riga" alone is none."""
    kinds: set[str] = set()
    for row in rows:
        if not row.strip():
            break
        header = _HEADER.match(row.casefold())
        if header and header.lastgroup:
            kinds.add(header.lastgroup)
            if header.lastgroup == "from" and _ADDRESS.search(row):
                return True
    return len(kinds) > 1


def _end_of_mail(rows: Sequence[str], start: int) -> int:
    """Find the row after a mail: the last paragraph of the message, where that asks something."""
    last = len(rows)
    while last > start and not rows[last - 1].strip():
        last -= 1
    first = last
    while first > start and rows[first - 1].strip():
        first -= 1
    paragraph = "\n".join(rows[first:last])
    after_body = any(row.strip() for row in rows[start:first]) and _has_body(rows[start:first])
    asks = any(is_question(one) for one in split_sentences(paragraph))
    return first if after_body and asks else len(rows)


def _has_body(rows: Sequence[str]) -> bool:
    """Say whether a mail has a paragraph behind its head."""
    return any(rows[place].strip() and not rows[place - 1].strip() for place in range(1, len(rows)))


_FENCE = re.compile(r"\s{0,3}(```|~~~)")
_MARKUP = re.compile(r"[{}<>\\\\=;|$#()\[\]]|\w_\w|::|->|\w\.\w+\(")
_MARKUP_SHARE = 0.08
_INDENTED = re.compile(r"(?:\s{2}|\t)\s*(?![-*•·\d\s])")
"""A row of the block above, unless an item of a list."""

_FEW_MARKS = 3
_LOG = re.compile(
    r"\s*(?:at [\w$.<>\[\] ]+[.(]\S|File \"|Traceback \(|\d{4}-\d\d-\d\d[T ]\d\d:|\[?(?:INFO|WARN(?:ING)?|DEBUG|TRACE|FATAL)\b[\]: ]|\[?ERROR(?:\]|:| {2}| \[)|[+-]{3} \S|@@ |"
    r"\$ [A-Za-z./]|>>> |#include\b|import (?:[\w.]+|\{.*|.* from ['\"].*);?\s*\Z|from [\w.]+ import\b|(?:def|class|func|function) \w+\s*[({:<]|(?:const|let|var) \w+\s*[:=]|"
    r"(?:public|private|static)\b .*[({;]\s*\Z|(?:[\w.]+\.)?[A-Z]\w*(?:Error|Exception)\b: |Caused by: |\.{3} \d+ more"
    r"|Exception in thread |goroutine \d+ \[|panic: |thread '[^']*' panicked|npm ERR!|#\d+ +(?:0x|[/\w.\\]+[(:])|stack backtrace:|Stack trace:|System\.\w+Exception\b"
    r"|[A-Z][a-z]{2} +\d{1,2} \d\d:\d\d:\d\d \S|\[?\d\d:\d\d:\d\d(?:[.,]\d+)?\]? +(?:\[|[A-Z]{4,})|[\w.$:*/<>-]+\([^()]*\);?\s*\Z)"
)


def drop_code(text: str) -> str:
    """Drop pasted code, logs and traces from a speaker's words.

    Args:
        text: A message.

    Returns:
        The prose, without other lines and fenced blocks.
    """
    return "\n".join(prose_rows(text))


def prose_rows(text: str) -> Iterator[str]:
    """Yield the lines of prose of a message.

    Args:
        text: A message.

    Yields:
        Each line outside fences that does not look like code, a log or a trace, nor stands indented below such
        a line.
    """
    fence, below_paste = "", False
    for row in text.split("\n"):
        mark = _FENCE.match(row)
        if fence:
            if mark and mark[1] == fence:
                fence = ""
            continue
        if mark:
            fence = mark[1]
            continue
        if not is_pasted(row) and not (below_paste and _INDENTED.match(row)):
            yield row
            below_paste = below_paste and not row.strip()
        else:
            below_paste = True


def drop_traces(text: str) -> str:
    """Drop the rows of traces and logs from a speaker's words; code and data stay.

    Args:
        text: A message.

    Returns:
        The text without such rows and without the rows indented below.
    """
    kept: list[str] = []
    below_trace = False
    for row in text.split("\n"):
        if _LOG.match(row) or (below_trace and _INDENTED.match(row)):
            below_trace = True
        else:
            kept.append(row)
            below_trace = below_trace and not row.strip()
    return "\n".join(kept)


def is_pasted(row: str) -> bool:
    """Tell whether a line looks like code, a log or a trace."""
    marks = len(_MARKUP.findall(row))
    return _LOG.match(row) is not None or (marks >= _FEW_MARKS and marks > _MARKUP_SHARE * len(row))


_VOTE_CHARS = 200
"""Characters of a message that count: a long message weighs like a few sentences."""


def users_language(lines: Iterable[RenderedLine]) -> str:
    """Name the language of the users, or of all speakers if the users say nothing in any language.

    Args:
        lines: A transcript.

    Returns:
        An ISO 639-1 code, or "und". Code, logs and a long paste do not count; of the rows of a message the
        first and the last, around anything pasted, are the writer's own.
    """
    spoken = [line for line in lines if line.kind is LineKind.TEXT]
    own = [words for line in spoken if line.role is Role.USER and (words := _own_words(line.text))]
    together = "\n".join(own)
    for language in (main_language(own), detect_language(together), guess_language(together)):
        if language != UNKNOWN:
            return language
    return main_language(line.text for line in spoken)


def _own_words(text: str) -> str:
    own, _ = split_foreign(text)
    rows = [row for row in prose_rows(own if own.strip() else text) if any(map(str.isalpha, row))]
    short = [row for row in rows if len(row) <= _ROW_CHARS] or rows[:1]
    return "\n".join(dict.fromkeys([*short[:1], *short[-1:]]))[:_VOTE_CHARS]


_ENGLISH = (
    r"(?:that|it|this|he|she|they|there|those|these|who|what|you) must be(?! (?:under|below|above|at|less|more|within|no|in|exactly|between|before|after|done|set|kept|used|written|sent|approved|signed|valid|(?!tired|exhausted|excited|thrilled|worried|scared|delighted|relieved|bored|shocked|surprised|amazed|disappointed|frustrated|overwhelmed|devastated|embarrassed|confused|stressed|pleased|relaxed)\w+ed)(?!\w))(?= \w)|"
    r"must(?:'ve| have| be (?:nice|great|hard|fun|exciting))|(?:don't|do not) tell me (?:you|that|he|she|it|they|we)|never in (?:my|a|all)|never ?mind|"
    r"you (?:never|always) (?!ask|push|delete|send|use|share|mention|write|reply|answer|run|commit|deploy|change|touch)\w+"
)
_OTHERS = (
    # German
    r"(?:muss|musst|müsst|müssen|dürfte)\s(?:\w+\s){0,5}(?:gewesen sein|\w+(?:t|en) haben|\w+t worden sein)|(?:du musst|ihr müsst)\s(?:\w+\s){1,3}sein|"
    r"man (?:\w+ ){0,2}(?:muss|soll|sollte|kann)|(?:muss|soll|sollte|kann) man|darf doch (?:wohl )?nicht wahr sein|(?:ich|wir)\s(?:\w+\s)?(?:war|waren|hatten?|habe|haben|wurden?|muss|müssen|bin|sind)|(?:er|sie|es) (?:war|hatte|hat|wurde)|(?:war|waren|hatten|wurde) (?:ich|er|sie|es|wir)|das (?:war|hat)|"
    # French
    r"on (?:doit|peut|prend) (?!jamais|pas)|il faut (?:bien )?prendre (?:la vie|les choses)|(?:tu dois|vous devez|(?:il|elle|on|ça|cela|ce) doit) (?:bien )?(?:être|avoir)(?! (?:\w+ )?(?:avant|après|en|sous|à|au)(?!\w))|devai(?:t|s|ent)|(?:a|ont|as|avez|ai) dû|(?:j'ai|je suis|je|nous) (?:\w+ )?(?:jamais|toujours|dois|devons)|"
    r"(?:était|étaient)|(?:il|elle|ils|elles|on) (?:n'\w+ jamais|(?!doit|doivent|faut)\w+ toujours|ne (?!faut|doit|doivent|peut|peuvent)\w+ jamais)|"
    # Spanish, Portuguese, Italian
    r"uno (?:debe|tiene que)|hay que (?:tomar\w*|vivir|aceptar\w*) (?:la vida|las cosas)|debe[sn]? (?:de|estar|haber|ser (?:increíble|difícil|genial|duro))|debió|debieron|debía|me (?:gust|encant)\w+|(?:nunca|siempre|jamás) (?:me |lo |la |he |había |hemos )?\w*(?:é|í|aba|ía|ado|ido|fui|estuve|tuve|quise)|"
    r"deve[ms]? (?:ter|estar|ser (?:lindo|ótimo|difícil|bom))|(?:nunca|sempre) (?:me |tinha |tenho )?(?:estive|fui|tive|quis|soube|vi|\w+ei|\w+ava|\w+ia)|"
    r"dev'esser\w?|(?:deve|devono|devi) (?:esser\w? (?:stat|stanc|difficil|bell|content)\w+|aver \w+)|(?:sono|ho|ha|abbiamo|hanno|ero|era|avevo|aveva) (?:mai|sempre)|"
    # Dutch, Scandinavian
    r"men (?:moet|kan)|moet(?:en)? (?:wel|vast|haast)|moet(?:en)? (?:\w+ ){0,4}(?:geweest|gehad)|(?:ik|wij|we|hij|ze) (?:heb|hebben|was|waren|had|hadden|heeft) |(?:jag|vi|han|hon|det|jeg|hun) (?:har|hade|var|är|er|havde|hadde|måste|må|skal)|"
    # Polish, Czech, Turkish
    r"musiał\w*|musel\w*|\w+(?:łem|łam|liśmy|łyśmy|łeś|łaś)|był[aoiy]?|(?:harika|güzel|zor|yorgun|muhteşem|eğlenceli|zevkli) olmalı\w*|\w+(?:d[ıiuü]m|t[ıiuü]m|m[ıiuü]şt[ıiuü]m?|d[ıiuü]k)(?=\W*\Z)|"
    # Russian, Ukrainian
    r"должно быть,|(?:я|мы|он|она|они|оно|ми|він|вона|вони) (?:\w+ ){0,2}(?:никогда|всегда|ніколи|завжди|должн\w+|повинн\w+)|(?:никогда|всегда|ніколи|завжди) (?!(?:не )?\w+(?:й|йте|ь|ьте|и|ите|іть) )(?:\w+ ){0,2}\w+(?:л|ла|ло|ли|лся|лась|лись|лася)|"
    # Indonesian, Finnish, Hungarian
    r"(?:saya|aku|kami|dia) (?:selalu|harus|tidak pernah|belum pernah)|(?:minä|hän|me|en|ei) (?:ole|olen|oli)|(?:én|ő|mi) (?:soha|mindig)|"
    # somebody else, or somebody's own: "Ella siempre llega tarde", "Meine Kinder essen nie Gemüse"
    r"(?:él|ella|ellos|ellas|ele|ela|eles|elas|lui|lei|loro|hij|zij|ze|on|ona|oni|onlar|o) (?!deb|dev|mus|moet)(?:\w+ )?(?:nunca|siempre|jamás|sempre|mai|nooit|altijd|nigdy|zawsze|asla|her zaman)|"
    r"(?:mis?|meus?|minhas?|(?:i|le) m(?:iei|ie)|(?:il|la) mi[oa]|mijn|meine?|mes|moje|moi|mój|moja|мои|мой|моя|мої|мій) \w+ (?!deb|dev|doi|mus|müs|moe|дол|пов)(?:\w+ )?(?:non \w+ )?(?:nunca|siempre|jamás|sempre|mai|nooit|altijd|nigdy|zawsze|nie|immer|toujours|никогда|всегда|ніколи|завжди)(?: nie)?(?: se| si)? (?!deb|dev)\w+|"
    r"(?:nigdy|zawsze) (?:nie )?(?:się )?(?!mus|powin|można|wolno|ma |mają)\w+(?:ją|ą|emy|imy|uje|a)|\w+l[ae]r[ıi]m (?:asla|her zaman) (?:\w+ ){0,2}\w+(?:z|r)(?=\W*\Z)|(?:никогда|всегда) (?:не )?(?!следует|может|могут|будет|будут)\w+(?:ет|ит|ют|ят|ут|ат)(?:ся)?|"
    r"(?:ніколи|завжди) (?:не )?\w+(?:ється|ить|уть|ють|ять|ать)(?:ся)?|(?:наверное|наверно|видимо)|het moet \w+ zijn|sie müssen (?:sehr|so|ja) \w+ sein|debe ser (?:bonito|lindo|hermoso|maravilloso)"
)
_UNSPACED = (
    r"那一定|一定(?:很|是|花|会|得|累|特别|非常)|一定.{0,12}吧[。！!]?\Z|从来没|从没|(?:他|她|他们|她们|它)[^，。！？]{0,4}(?:从不|绝不|一定|总是|必须)|"
    r"きっと|(?:絶対|必ず).{0,16}(?:と思|でしょう|だろう|はず)|(?:彼|彼女|彼ら)(?:は|が|も)|(?:ました|でした|だった|なかった)[。！!]?\Z|"
    r"겠(?:어요|네요|네|다|지)|(?:^|\s)(?:그|그녀|그들)(?:는|은|가|이)\s|(?:었|았|였)(?:어요|습니다|다)[.!]?\Z|(?:لم|لا|لن) أ|لم ن|मैं |हम |था|थे|थी|हो(?:गा|गी)[।!]?\Z|(?:हमेशा|कभी).{0,60}(?:है|हैं)[।!.]?\Z|(?:^|\s)(?:هي|هو|هم|היא|הוא|הם)\s"
)
_STORY = re.compile(rf"(?<!\w)(?:{_ENGLISH}|{_OTHERS})(?!\w)|{_UNSPACED}")


def tells_story(sentence: str) -> bool:
    """Tell whether a sentence guesses or tells something, with the words of a rule in any language.

    Args:
        sentence: One sentence, case-folded, with straight apostrophes.

    Returns:
        True for a guess such as "You must be tired" and for a tale such as "I have never been there".
    """
    return _STORY.search(sentence) is not None
