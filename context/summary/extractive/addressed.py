# ruff: noqa: E501, RUF001 - tables; the words are written in their languages' own letters
"""Distinction between rules addressed to somebody and stories with the same words."""

import re

_CLAUSE = r"(?:\A\W*|[,;:(.\u2013\u2014]\s*|(?<!\w)(?:and|but|or|please|so|also|then|just|you)\s)"
_NOT_ORDERED = (
    "worry|know|think|mind|have|had|believe|see|care|feel|like|want|need|remember|understand|even|really|you|we|i|they|he|she|it|be|"
    "ever|again|a|an|the|my|his|her|your|our|their|nice|good|great|fun|happy|proud|thought|knew|got|been|seen|heard|felt|did|do|was|is|"
    "to|for|in|on|at|of|one|two|so|too|that|this|if|when|because|time|me|us|some|would|could|will|can|should|there|here|about|know|sure|get|say"
)
_ORDERS = (
    "make sure|be sure|ensure|avoid|be careful|refrain|stick to|stick with|keep|limit|use only|return only|answer only|reply only|respond only|"
    "write only|show only|list only|include only|exclude|ask me|ask before|ask first|confirm with me|check with me|wait for my|leave out|"
    "prefer|remember to|remember that you|note that you"
)
_GUESS = r"(?<!\w)(?:that|it|this|he|she|they|there|those|these|who|what|you) must be (?!under|below|above|at |less|more|within|no |in |exactly|between|before|after|done|set|kept|used|written|sent|approved|signed|valid)"
"""Pattern of a guess, such as "it must be late"."""
_ENGLISH_ORDER = re.compile(
    rf"{_CLAUSE}(?:do not|don't|dont|never|always|only|under no circumstances)\s+(?!(?:{_NOT_ORDERED})(?!\w))(?!\w+(?:ed|ing|ly|est)(?!\w))[a-z]+"
    rf"|(?:\A\W*|[.;:]\s+|(?<!\w)please\s)(?:(?:please|also|then|just|so|and|but|ok|okay)\s)?(?:{_ORDERS})(?!\w)"
    r"|(?<!\w)(?:you|u)\s(?:(?:all|guys|will|also|only|still)\s)?(?:must(?! have| be | feel|'ve)|mustn't|may not|may only|can only|should (?:never|always|only|not)|shouldn't|are not allowed|aren't allowed|are never|are only|are required|will never|shall)(?!\w)"
    r"|(?<!\w)you (?:need|have) to .{0,80}(?<!\w)(?:before|first|unless)(?!\w)"
)
_ENGLISH_DUTY = re.compile(
    r"(?<!\w)(?:must(?:n't)?(?! have|n't have|'ve| feel| seem| been)|may not|shall not|should (?:not|never|always)|shouldn't|(?:has|have|needs?) to be(?! (?:great|fun|nice|good|careful|honest))|(?:is|are|be) (?:not allowed|forbidden|prohibited|required|mandatory)|not allowed|forbidden|prohibited|required to)(?!\w)"
)
_ENGLISH_WISH = re.compile(
    r"(?<!\w)i (?:really )?(?:do not|don't|dont|would not|wouldn't) want (?:you to|any|more than|it to|them to|my|to .{0,60}(?<!\w)(?:before|after|until|without|more than|anything))(?!\w)"
    r"|(?<!if )(?<!whether )(?<!\w)i(?: would|'d) (?:rather|strongly prefer|prefer)(?!\w)|(?:\A|[.,;] )i (?:strongly )?prefer(?!\w)|(?<!\w)i (?:only want|want only)(?!\w)"
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
_ENGLISH_GUESS = re.compile(_GUESS)
_PAST = re.compile(
    r"(?<!\w)(?:was|were|had|did|got|took|felt|went|said|thought|seemed|made|been|used to)(?!\w)"
)
_ENGLISH = re.compile(
    r"(?<!\w)(?:the|and|is|are|of|to|you|i|my|it|that|this|with|for|must|not|don't|please|was|have)(?!\w)"
)
_FIGURE = re.compile(
    r"\d|[一二三四五六七八九十百千万两]|(?<!\w)(?:one|two|three|four|five|six|ten|zwei|drei|deux|trois|dos|tres|due|tre|dois|três|dva|два|три)(?!\w)"
)
_QUOTED = re.compile(r"\A\W*[\"“«„「『【《'](?:[^\"”»“」』】》]+)[\"”»“」』】》']\W*\Z|\A\s*>")
_PLANTED = re.compile(
    r"(?<!\w)(?:ignore|disregard|forget|override|ignoriere|vergiss|ignore[zr]?|oublie[zr]?|ignora|olvida|dimentica|ignoruj|zignoruj|игнорируй\w*|забудь\w*)(?!\w).{0,40}(?<!\w)(?:instructions?|prompts?|rules?|anweisungen|regeln|instrucciones|istruzioni|instruções|instrukcj\w+|инструкци\w+|правил\w*)(?!\w)"
    r"|忽略.{0,12}(?:指令|指示|提示)|(?:以前|これまで|上記)の.{0,8}指示を.{0,4}無視|이전.{0,8}지시.{0,6}무시"
)
_STRONG = re.compile(
    r"(?<!\w)(?:muss|musst|müsst|müssen|darf|darfst|dürft|dürfen|auf keinen fall|keinesfalls|verboten|bitte nicht|unbedingt|"
    r"doit|dois|devez|doivent|interdit\w*|obligatoire|il (?:ne )?faut|debe|debes|deben|no debes|prohibido|obligatorio|hay que|deve|deves|devem|proibido|obrigatório|"
    r"(?<=por favor )no \w+es|devi|devono|vietato|obbligatorio|bisogna|non \w+(?:are|ere|ire|arlo|erlo|irlo|arla|erla|irla)|moet|moeten|mag niet|verboden|verplicht|"
    r"musi|musisz|muszą|nie wolno|nie \w+(?:j|jcie)|zabronione|należy|yasak|zorunlu|olmamalı|olmalı|asla|"
    r"должен|должна|должно|должны|не \w+(?:й|йте|ьте)|нельзя|обязательно|запрещено|повинен|повинна|повинні|не \w+(?:й|йте|ьте)|не можна|обов'язково|заборонено)(?!\w)"
    r"|必须|不得(?!不|了|已)|禁止|务必|绝不|一定要|不要|(?:\A|[，。、；：\s请你您就也])别(?!人|的|处|墅|扭|说|提)|必ず|ないで(?:ください|くれ|ね)|してはいけない|絶対|반드시|지 마|지 말|금지|절대|"
    r"يجب|لا يجوز|(?:\A|\s)لا ت|ممنوع|חייב|(?:\A|\s)אל ת|אסור|לעולם לא|कभी नहीं|कभी न|अनिवार्य|मत (?:कर|दे|हट|भेज|बद|लि)"
)
_EVER = re.compile(
    r"\A\W*(?:\w+[\s,]+){0,2}(?:nie|niemals|immer|nur|jamais|toujours|uniquement|nunca|jamás|siempre|solo|sólo|solamente|sempre|somente|apenas|mai|soltanto|nooit|altijd|alleen|nigdy|zawsze|tylko|"
    r"asla|her zaman|sadece|yalnızca|никогда|всегда|только|ніколи|завжди|тільки|лише|لا|أبدا|دائما|فقط|תמיד|רק|हमेशा|केवल|सिर्फ)(?!\w)"
)
_WEAK = re.compile(
    r"(?<!\w)(?:nie|niemals|immer|nur|höchstens|mindestens|frist|(?:ne \w+|n'\w+) pas|ne pas|jamais|toujours|seulement|uniquement|au plus|au moins|évite[rz]?|nunca|jamás|siempre|solo|sólo|"
    r"solamente|como máximo|al menos|evita|sempre|somente|apenas|no máximo|pelo menos|evite|mai|soltanto|al massimo|almeno|nooit|altijd|alleen|hoogstens|minstens|nigdy|zawsze|tylko|najwyżej|"
    r"co najmniej|her zaman|sadece|yalnızca|en fazla|en az|gerekir|никогда|всегда|только|не более|не менее|необходимо|ніколи|завжди|тільки|лише|не більше|не менше|необхідно|учитывай\w*|учти\w*|враховуй\w*)(?!\w)"
    r"|只能|只要|至少|最多|不能|勿|从不|のみ|だけ|以内|以上|以下|이상|이하|항상|만 사용|أبدا|دائما|فقط|على الأقل|على الأكثر|תמיד|רק |לפחות|לכל היותר|ज़रूर|हमेशा|केवल|सिर्फ"
)
_ADDRESS = re.compile(
    r"(?<!\w)(?:bitte|du|dir|dich|sie|ihr|s'il (?:te|vous) plaît|tu|te|toi|vous|veuillez|por favor|usted|ustedes|tú|vos|você|vocês|per favore|lei|voi|je|jij|jullie|u|alstublieft|alsjeblieft|"
    r"proszę|lütfen|sen|siz|пожалуйста|ты|вы|тебе|вам|учитывай\w*|учти\w*|будь ласка|ти|ви|враховуй\w*|من فضلك|أنت|בבקשה|אתה|את|कृपया|आप|तुम)(?!\w)"
    r"|请|你|您|ください|下さい|しろ|せよ|なさい|주세요|하세요|십시오|해줘|해 줘|해라"
)
_STORY = re.compile(
    r"(?<!\w)(?:ich|wir|habe|haben|hatte|hatten|war|waren|wurde|er|j'\w+|je|nous|avons|on|était|étaient|yo|nosotros|he|hemos|había|era|fue|estaba|estava|eu|tenho|tinha|foi|io|noi|ho|abbiamo|avevo|aveva|ik|wij|heb|hebben|"
    r"ja|ben|biz|я|мы|был\w*|ми|мені|мне|أنا|كنت|אני|אנחנו|היה|मैं|हम|था|थी|थे)(?!\w)"
    r"|我们?[^，。！？]{0,8}(?:必须|不能|只能|一定要|不要|从不|最多|至少)|怪我|(?:私|僕|俺)(?:は|が|も)|(?:저|나|우리)(?:는|도|가)"
)
_MOST_CHARS = 1_000


def is_addressed_rule(sentence: str) -> bool:
    """Tell whether a sentence asks somebody to keep to something: an order, a duty, a limit, a refusal.

    "That must have been nice" and "I always do" hold the words of rules and are no rules.

    Args:
        sentence: One sentence, in any language.

    Returns:
        True for an imperative that forbids or demands, a duty of "you" or of a thing, a wish for a limit.
    """
    said = sentence[:_MOST_CHARS].casefold().replace("’", "'")
    if _QUOTED.search(said) or _PLANTED.search(said):
        return False
    if _is_english_rule(said):
        return True
    if len(_ENGLISH.findall(said)) > 1:
        return False
    return _is_rule_of_others(said)


def _is_english_rule(said: str) -> bool:
    if _ENGLISH_ORDER.search(said) or _ENGLISH_WISH.search(said):
        return True
    if any(story.search(said) for story in (_ENGLISH_STORY, _PAST, _ENGLISH_GUESS, _SUPPOSED)):
        return False
    if _ENGLISH_DUTY.search(said):
        return True
    return _ENGLISH_LIMIT.search(said) is not None


def _is_rule_of_others(said: str) -> bool:
    is_addressed = _ADDRESS.search(said) is not None
    if _STORY.search(said) and not is_addressed:
        return False
    if _STRONG.search(said) or _EVER.search(said):
        return True
    return _WEAK.search(said) is not None and (is_addressed or _FIGURE.search(said) is not None)
