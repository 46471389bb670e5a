# ruff: noqa: E501, RUF001 - tables; the words are written in their languages' own letters
"""Words for the end of a rule or a task. When unsure, the rule or task stands."""

import re

from context.cues import is_question

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
