# ruff: noqa: E501, RUF001, SIM905 - tables; the words are written in their languages' own letters
"""Action words and connecting words of several languages."""

from context.languages import LANGUAGES, by_language

_ACTIONS = by_language(lambda one: one.actions)
_UNSPACED = {"han", "kana", "hangul"}

ACTIONS = frozenset(
    action
    for code, actions in _ACTIONS.items()
    if LANGUAGES[code].script not in _UNSPACED
    for action in actions.split("|")
)
"""First words of a request; case-folded."""

UNSPACED_ACTIONS = tuple(
    action
    for code, actions in _ACTIONS.items()
    if LANGUAGES[code].script in _UNSPACED
    for action in actions.split("|")
)
"""Action words of languages without blanks between words, or with the verb last."""

CONNECTORS = (
    r"(?:and |, )?(?:then|also|afterwards|after that|finally|next)\b|\band\b|\bplus\b|(?:und |, )?(?:dann|danach|anschließend|außerdem|zuletzt)\b|\bund\b"
    r"|(?:et |, )?(?:puis|ensuite|enfin|aussi)\b|\bet\b|(?:y |, )?(?:luego|después|también|finalmente)\b|\by\b|\be\b(?=\s)|(?:e )?(?:depois|poi|infine|inoltre|em seguida)\b"
    r"|\ben\b(?= )|\bdaarna\b|\boraz\b|\bpotem\b|\bnastępnie\b|\bи\b|\bзатем\b|\bпотом\b|\bтакже\b|ثم|(?<=\s)و(?=\w)|然后|然後|接着|接著|最后|最後に|并且|並且|再|そして|それから|次に|그리고|그다음|그런 다음"
)
"""Regular expression for connecting words between two requests."""

SOFTENERS = frozenset(
    "please kindly just can could would will you we i'd like to want need and then also now first second third finally next let's lets help me us so maybe "
    "bitte kannst du könntest ich möchte s'il te vous plaît peux tu pouvez je veux por favor puedes podrías quiero você pode quero per puoi vorrei graag kun je proszę możesz "
    "пожалуйста можешь можете мне من فضلك أريد".split()
)
"""Polite or leading words in front of an action word."""

ORDER_MARKS = (
    r"\b(?:then|after(?:wards)?|before|once|first|next|finally|dann|danach|zuerst|puis|ensuite|d'abord|luego|después|primero|depois|primeiro|poi|prima|eerst|daarna|potem|najpierw|затем|потом|сначала|после)\b"
    r"|然后|然後|接着|接著|首先|最后|まず|それから|次に|먼저|그다음|그런 다음|ثم|أولا"
)
CONDITION_MARKS = r"\b(?:if|unless|until|each|every|whenever|otherwise|wenn|falls|jede[rsn]?|sonst|si|chaque|sinon|cada|cuando|se|ogni|als|elke|jeśli|każd\w+|если|кажд\w+|иначе)\b|如果|每个|每個|每|もし|ごとに|만약|마다|إذا|كل"

CLAUSE_MARKS = r"[,;:](?=\s)|[、，；：\n]+|\s-\s"
"""Marks between clauses."""
