# ruff: noqa: E501, RUF001 - tables of words in several scripts
"""Cues: words and sentence endings that mark errors, decisions, rules and questions in many languages."""

import re
from enum import StrEnum

_LIFTED = (
    r"no longer (?:applies|apply|holds?|valid|in force|required|needed|necessary|relevant|binding|wanted|the case)|"
    r"(?:is|are|was|were|been|be|got) (?:lifted|withdrawn|revoked|reversed|rescinded|repealed|overruled|superseded|waived|relaxed|"
    r"cancell?ed|called off|abandoned|obsolete|dropped|removed|replaced (?:by|with)|moot)|"
    r"(?:lifts?|lifted|withdr[ae]ws?|withdrew|revoke[sd]?|reverse[sd]?|rescind(?:s|ed)?|repeal(?:s|ed)?|overrule[sd]?|waive[sd]?|drop(?:s|ped)?|"
    r"cancel(?:s|l?ed)?|abandon(?:s|ed)?) (?:the|that|this|his|her|their|its|my|our)\b|"
    r"(?:forget|ignore|disregard|scrap) (?:about )?(?:the|that|this|my|our|what)\b|never ?mind|"
    r"(?:may|can|allowed to|fine to|okay to|ok to) [^.;]{1,120} again|"
    r"(?:changed|moved|extended|shortened|raised|lowered|increased|reduced|postponed|updated) from [^.;]{1,80} to\b|"
    r"not (?:needed|necessary|required|wanted|relevant) any ?more|decided against|"
    r"aufgehoben|gilt nicht mehr|gelten nicht mehr|hinfällig|zurückgenommen|zurückgezogen|nicht mehr (?:nötig|gültig|erforderlich|gewünscht)|abgesagt|storniert|"
    r"levée?s?|annulée?s?|abandonnée?s?|ne s'applique(?:nt)? plus|n'est plus (?:valable|nécessaire|requise?)|n'est plus en vigueur|"
    r"anulad[oa]s?|cancelad[oa]s?|levantad[oa]s?|ya no (?:se aplica|aplica|vale|es necesari[oa]|hace falta|rige)|"
    r"revogad[oa]s?|já não (?:se aplica|vale|é necessári[oa])|não (?:vale|se aplica|é) mais|"
    r"revocat[oaie]|annullat[oaie]|non (?:vale|serve|è) più|non si applica più|"
    r"ingetrokken|opgeheven|vervallen|geldt niet meer|niet meer nodig|uchylon[aey]|odwołan[aey]|już nie obowiązuje|nie jest już|"
    r"iptal edildi|kaldırıldı|artık geçerli değil|artık gerekli değil|"
    r"отменен[аоы]?|отменён|больше не (?:действует|нужн\w{1,2}|требуется|актуальн\w{1,2})|снят[аоы]?|скасован[аоиі]|більше не (?:діє|потрібн\w{1,2})|"
    r"不再(?:适用|需要|有效)|已取消|已撤销|已解除|作废|もう(?:不要|適用されない|必要ない)|取り消され|撤回され|解除され|더 이상 (?:적용되지|필요하지|유효하지)|취소되|해제되|철회되|"
    r"لم يعد|لم تعد|أُلغي|تم إلغاء|כבר לא (?:נדרש|בתוקף|צריך)|בוטל|अब (?:लागू|ज़रूरी) नहीं|रद्द कर"
)
_UNSURE = (
    r"if|when|whenever|once|until|till|unless|will|would|could|might|should|must|maybe|perhaps|whether|asks?|asked|wants?|wanted|wish\w{0,3}|suggests?|suggested|"
    r"propos\w{1,4}|consider\w{0,3}|plans?|hopes?|still|remains?|nearly|almost|soon|"
    r"wenn|falls|sobald|bis|würde|wird|werden|soll|vielleicht|weiterhin|noch|quand|jusqu\w{0,3}|sera|serait|peut-être|encore|"
    r"cuando|hasta|será|quizás?|todavía|aún|quando|até|talvez|ainda|finché|sarà|forse|ancora|als|zodra|tot|zal|misschien|jeśli|gdy|będzie|może|"
    r"eğer|belki|если|когда|пока|будет|может|ещё|еще|якщо|коли|буде|може"
)
_NEGATED = re.compile(
    r"(?:(?<!\w)(?:never|not|cannot|\w+n't|nobody|nie|nicht|kein\w{0,2}|ne|nunca|no|não|non|mai|niet|nooit|не|ні)(?!\w)|不|没|未)\W{0,3}(?:\w+\W{1,3}){0,2}\Z"
)
_LIFTED_RE = re.compile(
    rf"(?<!\w)(?:{_LIFTED})(?!\w)|不再(?:适用|需要|有效)|已取消|已撤销|已解除|作废|取り消され|撤回され|解除され|취소되|해제되|철회되"
)
_UNSURE_RE = re.compile(
    rf"(?<!\w)(?:{_UNSURE})(?!\w)|如果|要是|除非|等到|可能|もし|かもしれ|まで|만약|까지|إذا|ربما|אם |אולי|अगर|शायद"
)
_FAILED_RE = re.compile(
    r"(?<!\w)(?:fail\w{0,4}|errors?|attempt\w{0,3}|tried|tries|unable|unsuccessful\w{0,2}|\w+n't|cannot|not|partly|partial\w{0,2}|pending|blocked|incomplete|"
    r"without success|fehlgeschlagen|fehler|gescheitert|versucht|nicht|teilweise|échoué|échec|erreur|pas|partiellement|falló|fallido|intentado|no|parcialmente|"
    r"falhou|erro|não|fallito|errore|non|mislukt|fout|niet|nie|błąd|başarısız|hata|не|ошибка|частично|не вдалося|помилка)(?!\w)|失败|失敗|错误|未|没|できな|エラー|실패|오류|못 |فشل|خطأ|נכשל|שגיאה|विफल|त्रुटि"
)


def says_it_ended(sentence: str, *, about: str = "") -> bool:
    """Tell whether a sentence reports, without reserve, something lifted, withdrawn or changed.

    Args:
        sentence: One sentence or point in any language.
        about: The rule or task in question; its own words are no sign.

    Returns:
        False for questions, conditions, wishes, denials and anything not understood.
    """
    folded, known = _fold(sentence), _fold(about)
    if is_question(sentence):
        return False
    found = [match for match in _LIFTED_RE.finditer(folded) if not _stands_in(match[0], known)]
    sure = [match for match in found if not _NEGATED.search(folded[: match.start()])]
    if not sure:
        return False
    rest = folded
    for match in found:
        rest = rest.replace(match[0], " ")
    return not any(not _stands_in(match[0], known) for match in _UNSURE_RE.finditer(rest))


def says_it_failed(sentence: str, *, about: str = "") -> bool:
    """Tell whether a sentence reports a full or partial failure.

    Args:
        sentence: One sentence or point in any language.
        about: The task in question; its own words are no sign.

    Returns:
        True also if a word is ambiguous.
    """
    known = _fold(about)
    return any(not _stands_in(match[0], known) for match in _FAILED_RE.finditer(_fold(sentence)))


def _fold(text: str) -> str:
    return text.casefold().replace("\u2019", "'")


def _stands_in(words: str, text: str) -> bool:
    edge = r"(?<!\w)", r"(?!\w)"
    return re.search(re.escape(words).join(edge) if words.isascii() else re.escape(words), text) is not None


class Cue(StrEnum):
    """Kinds of cues in a sentence."""

    RULE = "rule"
    WISH = "wish"
    DECISION = "decision"
    OPEN = "open"
    DONE = "done"


_SPACED = {
    Cue.RULE: (
        "must|must not|mustn't|never|always|only|at most|at least|no more than|not allowed|forbidden|required|requires|"
        "make sure|ensure|avoid|prefer|instead of|without|except|limit|deadline|budget|(?<!i )cannot|may not|need to be|has to be|should not|shouldn't|"
        "muss|musst|müsst|müssen|darf|darfst|dürft|dürfen|nie|niemals|immer|nur|auf keinen fall|höchstens|mindestens|unbedingt|keinesfalls|verboten|bitte nicht|frist|"
        r"doit|dois|devez|doivent|ne pas|(?<!je )(?:ne \w+|n'\w+) pas|jamais|toujours|seulement|uniquement|au plus|au moins|interdit|obligatoire|éviter|il faut|"
        r"debe|debes|deben|no debes|(?<=por favor )no \w+es|nunca|jamás|siempre|solo|sólo|solamente|como máximo|al menos|prohibido|obligatorio|evita|hay que|"
        "deve|deves|devem|sempre|somente|apenas|no máximo|pelo menos|proibido|obrigatório|evite|"
        r"devi|devono|non \w+(?:are|ere|ire|arlo|erlo|irlo|arla|erla|irla)|mai|solo|soltanto|al massimo|almeno|vietato|obbligatorio|bisogna|"
        "moet|moeten|mag niet|nooit|altijd|alleen|hoogstens|minstens|verboden|verplicht|"
        r"musi|musisz|muszą|nie wolno|nie \w+(?:j|jcie)|nigdy|zawsze|tylko|najwyżej|co najmniej|zabronione|należy|"
        "asla|her zaman|sadece|yalnızca|en fazla|en az|yasak|zorunlu|gerekir|olmamalı|olmalı|"
        r"должен|должна|должно|должны|не \w+(?:й|йте|ьте)|нельзя|никогда|всегда|только|не более|не менее|обязательно|запрещено|необходимо|"
        r"повинен|повинна|повинні|не \w+(?:й|йте|ьте)|не можна|ніколи|завжди|тільки|лише|не більше|не менше|обов'язково|заборонено|необхідно"
    ),
    Cue.WISH: (
        "i want|i need|i'd like|i would like|we want|we need|please|could you|can you|help me|let's|looking to|goal is|the goal|"
        "ich will|ich möchte|ich brauche|wir brauchen|wir wollen|bitte|kannst du|können sie|ziel ist|"
        "je veux|je voudrais|j'ai besoin|nous voulons|s'il vous plaît|s'il te plaît|peux-tu|pouvez-vous|"
        "quiero|necesito|queremos|por favor|puedes|podrías|me gustaría|quero|preciso|queremos|gostaria|você pode|"
        "voglio|vorrei|ho bisogno|per favore|puoi|ik wil|ik heb|graag|kun je|chcę|potrzebuję|proszę|czy możesz|"
        "istiyorum|ihtiyacım|lütfen|yapabilir misin|хочу|нужно|надо|мне нужно|пожалуйста|можешь|давай|потрібно|будь ласка|можеш"
    ),
    Cue.DECISION: (
        "decided|we decide|let's go with|go with|we'll use|we will use|i'll use|agreed|chose|chosen|settled on|instead of|rather than|"
        "because|therefore|the plan is|approved|confirmed|switch to|root cause|"
        "entschieden|wir nehmen|beschlossen|einigen|vereinbart|stattdessen|weil|deshalb|bestätigt|"
        "décidé|on prend|convenu|choisi|plutôt que|parce que|confirmé|decidido|decidimos|acordado|elegimos|porque|en lugar de|confirmado|"
        "decidimos|escolhemos|em vez de|combinado|deciso|scegliamo|invece di|perché|concordato|besloten|we nemen|afgesproken|omdat|bevestigd|"
        "zdecydowano|zdecydowaliśmy|wybieramy|zamiast|ponieważ|ustalone|karar|seçtik|yerine|çünkü|onaylandı|"
        "решили|решено|выбрали|договорились|вместо|потому что|поэтому|подтверждаю|вирішили|вирішено|обрали|домовилися|замість|тому що"
    ),
    Cue.OPEN: (
        "todo|to do|tbd|fixme|next step|next steps|remaining|still need|still needs|not yet|pending|follow up|follow-up|later|blocked|waiting for|"
        "unresolved|open question|left to do|need to|needs to|will|going to|offen|noch nicht|nächster schritt|später|ausstehend|warten auf|"
        "reste à|pas encore|prochaine étape|en attente|plus tard|falta|pendiente|todavía no|aún no|próximo paso|más tarde|falta|pendente|ainda não|"
        "manca|ancora|in attesa|prossimo passo|nog niet|volgende stap|openstaand|wacht op|jeszcze nie|następny krok|oczekuje|"
        "henüz|sonraki adım|bekliyor|kaldı|осталось|ещё не|еще не|следующий шаг|позже|ожидает|ждём|залишилося|ще не|наступний крок|пізніше|очікує"
    ),
    Cue.DONE: (
        "done|completed|finished|fixed|created|added|removed|updated|implemented|committed|pushed|merged|deployed|booked|cancelled|canceled|sent|"
        "successfully|works now|passed|resolved|refactored|moved|renamed|wrote|saved|erledigt|fertig|behoben|erstellt|hinzugefügt|entfernt|gebucht|"
        "terminé|corrigé|créé|ajouté|supprimé|réservé|hecho|terminado|corregido|creado|añadido|eliminado|reservado|feito|concluído|corrigido|criado|"
        "adicionado|fatto|completato|corretto|creato|aggiunto|gedaan|klaar|opgelost|gemaakt|toegevoegd|geboekt|zrobione|gotowe|naprawione|utworzono|"
        "dodano|tamamlandı|bitti|düzeltildi|oluşturuldu|eklendi|готово|сделано|исправлено|создан|создано|добавлено|удалено|зроблено|виправлено|створено|додано"
    ),
}
_UNSPACED = {
    Cue.RULE: "必须|不得|不要|别|勿|不能|禁止|务必|只能|只要|至少|最多|一定要|绝不|从不|必ず|ないで|してはいけない|禁止|のみ|だけ|絶対|以内|以上|以下|반드시|지 마|지 말|금지|절대|만 사용|이상|이하|항상|"
    "يجب|لا يجوز|لا ت|ممنوع|دائما|أبدا|فقط|على الأقل|على الأكثر|חייב|אל ת|אסור|תמיד|לעולם לא|רק |לפחות|לכל היותר|ज़रूर|कभी नहीं|कभी न|हमेशा|केवल|सिर्फ|अनिवार्य|मत ",
    Cue.WISH: "请|帮我|我想|我要|需要|希望|ください|お願い|したい|欲しい|해 주세요|해주세요|부탁|원해|싶|أريد|أحتاج|من فضلك|الرجاء|אני רוצה|אני צריך|בבקשה|कृपया|मुझे|चाहिए|चाहता",
    Cue.DECISION: "决定|选择|采用|同意|因为|因此|改用|確定|决策|決定|にします|採用|なぜなら|ため、|결정|선택|하기로|때문|대신|قررنا|قرر|اخترنا|بدلا من|لأن|החלטנו|נבחר|במקום|כי |तय किया|फैसला|चुना|क्योंकि|इसलिए",
    Cue.OPEN: "待办|尚未|还没|下一步|剩下|稍后|等待|未完成|まだ|次のステップ|残り|後で|未完了|待ち|아직|다음 단계|남은|나중에|대기|لم يتم بعد|الخطوة التالية|متبقي|لاحقا|עדיין לא|השלב הבא|נותר|בהמשך|अभी नहीं|अगला|बाकी|बाद में",
    Cue.DONE: "已完成|完成了|已修复|已创建|已添加|已删除|成功|完了|修正しました|作成しました|追加しました|削除しました|완료|수정했|생성했|추가했|삭제했|تم |اكتمل|أنجز|בוצע|הושלם|נוצר|נוסף|पूरा|हो गया|बनाया|जोड़ा",
}
_ORDER_NOT = r"(?:\A\W*|[,;:(.–—-]\s*|(?<!\w)(?:and|but|or|please|so|also|then|you|just|they|it)\s)(?:do not|don't|dont)(?=\s\w)"
"""A refusal to let something be done; "I don't remember" states none."""
_STRONG = re.compile(
    rf"{_ORDER_NOT}|"
    r"(?<!\w)(?:must|must not|never|always|not allowed|forbidden|required|muss|musst|darf|darfst|nie|niemals|jamais|nunca|sempre|"
    r"siempre|mai|nooit|nigdy|asla|должен|должны|нельзя|никогда|запрещено|обязательно|ніколи|не можна|заборонено)(?!\w)|"
    r"必须|禁止|不得|绝不|必ず|絶対|반드시|금지|절대|يجب|ممنوع|أبدا|חייב|אסור|לעולם לא|कभी नहीं|कभी न|हमेशा|अनिवार्य"
)
_PATTERNS = {
    cue: re.compile(
        rf"(?<!\w)(?:{spaced})(?!\w)|{_UNSPACED[cue]}" + (f"|{_ORDER_NOT}" if cue is Cue.RULE else "")
    )
    for cue, spaced in _SPACED.items()
}
_QUESTION = re.compile(r"[?？؟]\s*+[)\"'”’»」』]*+\s*+\Z|か[。？]?\s*\Z|吗[。？]?\s*\Z|呢[。？]?\s*\Z")


def find_cues(sentence: str) -> frozenset[Cue]:
    """Find the cues of a sentence by known words.

    Args:
        sentence: One sentence in any language.

    Returns:
        Every cue of the sentence, perhaps none.
    """
    folded = sentence.casefold().replace("’", "'")
    return frozenset(cue for cue, pattern in _PATTERNS.items() if pattern.search(folded))


def is_strong_rule(sentence: str) -> bool:
    """Tell whether a sentence forbids or demands without reserve."""
    return _STRONG.search(sentence.casefold().replace("’", "'")) is not None


def is_question(sentence: str) -> bool:
    """Tell whether a sentence asks something."""
    return _QUESTION.search(sentence) is not None
