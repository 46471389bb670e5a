# ruff: noqa: E501, RUF001 - tables; the words are written in their languages' own letters
"""Words in many languages for rules, decisions, open work and finished work."""

import re
from enum import StrEnum


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
