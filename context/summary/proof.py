# ruff: noqa: E501, RUF001 - tables of words in several scripts
"""Whether a message proves that the deed of a point was done."""

import re

from context.conversation.transcript import LineKind, RenderedLine
from context.summary.source import ParsedPoint, line_terms, share_of, support_of
from context.summary.strange_words import is_exact_name
from context.text.exact_values import extract_identifiers, kept_identifiers, normal
from context.text.language import UNKNOWN, detect_language, same_language

_SPACED = (
    "changed|updated|modified|booked|rebooked|cancell?ed|refunded|sent|emailed|deleted|removed|created|added|deployed|installed|merged|pushed|"
    "committed|restarted|stopped|started|fixed|resolved|implemented|completed|finished|paid|charged|transferred|ordered|purchased|scheduled|"
    "moved|renamed|written|wrote|saved|published|uploaded|approved|signed|reserved|issued|applied|configured|migrated|replaced|successful(?:ly)?|"
    "geändert|aktualisiert|gebucht|umgebucht|storniert|erstattet|gesendet|verschickt|gelöscht|entfernt|erstellt|angelegt|hinzugefügt|installiert|"
    "neu gestartet|behoben|erledigt|abgeschlossen|bezahlt|überwiesen|bestellt|verschoben|umbenannt|gespeichert|veröffentlicht|genehmigt|"
    "(?:a|ont|est|été|sont) (?:été )?(?:modifié|changé|réservé|annulé|remboursé|envoyé|supprimé|créé|ajouté|installé|corrigé|terminé|payé|commandé|déplacé)(?:e|s|es)?|"
    "(?:modificad|cambiad|actualizad|reservad|cancelad|reembolsad|enviad|eliminad|cread|añadid|instalad|corregid|terminad|completad|pagad|movid)[oa]s?|"
    "(?:alterad|modificad|atualizad|reservad|cancelad|reembolsad|enviad|excluíd|criad|adicionad|instalad|corrigid|concluíd|pag|movid)[oa]s?|"
    "(?:modificat|cambiat|aggiornat|prenotat|cancellat|annullat|rimborsat|inviat|eliminat|aggiunt|installat|corrett|completat|pagat|spostat)[oaie]|creat[oai]|state create|"
    "gewijzigd|bijgewerkt|geboekt|geannuleerd|terugbetaald|verzonden|verstuurd|verwijderd|aangemaakt|toegevoegd|opgelost|voltooid|betaald|verplaatst|"
    "(?:zmienion|zarezerwowan|anulowan|wysłan|usunięt|utworzon|dodan|naprawion|zakończon|opłacon|przeniesion)[oyae]|"
    "değiştirildi|güncellendi|rezerve edildi|iptal edildi|iade edildi|gönderildi|silindi|oluşturuldu|eklendi|düzeltildi|tamamlandı|ödendi|taşındı|"
    r"(?:измен[её]н|обновл[её]н|забронирован|отмен[её]н|возвращ[её]н|отправлен|удал[её]н|создан|добавлен|установлен|исправлен|завершен|завершён|оплачен|перенес[её]н)\w{0,2}|"
    r"(?:змінен|оновлен|заброньован|скасован|повернен|надіслан|видален|створен|додан|встановлен|виправлен|завершен|оплачен|перенесен)\w{0,2}"
)
_UNSPACED = (
    "已(?:经)?(?:更改|修改|更新|预订|取消|退款|发送|删除|创建|添加|部署|安装|修复|完成|支付|移动|重启)|(?:更改|修改|更新|预订|取消|退款|发送|删除|创建|添加|完成)了|"
    "(?:変更|更新|予約|キャンセル|返金|送信|削除|作成|追加|修正|完了|支払い|移動)(?:しました|した|され|済み)|"
    "(?:변경|수정|업데이트|예약|취소|환불|전송|삭제|생성|추가|완료|결제|이동)(?:했|됐|되었|됨|하였)|"
    "تم (?:تغيير|تعديل|تحديث|حجز|إلغاء|رد|إرسال|حذف|إنشاء|إضافة|إصلاح|دفع|نقل)|"
    "(?:שונ|עודכנ|הוזמנ|בוטל|הוחזר|נשלח|נמחק|נוצר|נוסף|תוקנ|הושלמ|שולמ|הועבר)\\w{0,2}|"
    "(?:बदल|अपडेट कर|बुक कर|रद्द कर|वापस कर|भेज|हटा|बना|जोड़|ठीक कर|पूरा कर) ?(?:दिया|दी|दिए) ?(?:गया|गई|गए)?"
)
_ACTS = re.compile(rf"(?<!\w)(?:{_SPACED})(?!\w)|{_UNSPACED}")
_NOT_YET = re.compile(
    r"(?<!\w)(?:not|never|n't|cannot|if|whether|unless|until|before|should|would|will|shall|to be|could|may|must|wants?|asks?|asked|asking|needs?|"
    r"nicht|kein\w{0,2}|noch|ob|wenn|soll|werden|pas|si|faut|no|sin|não|sem|non|se|niet|nie|bez|не|если|чтобы|нужно|ні|якщо|değil)(?!\w)"
    r"|[?？؟]|没|未|不|ない|ません|안 |않|못|لم |لا |לא |नहीं"
)


def claims_act(sentence: str) -> bool:
    """Tell whether a sentence reports a finished act, without an if, a not or a wish.

    Args:
        sentence: One sentence in any language.

    Returns:
        True if the sentence names an act as done.
    """
    folded = sentence.casefold().replace("’", "'")
    return _ACTS.search(folded) is not None and _NOT_YET.search(folded) is None


def tells_act(text: str) -> bool:
    """Tell whether a text names any act as done, regardless of conditions and denials."""
    return _ACTS.search(text.casefold().replace("’", "'")) is not None


_READING = (
    "read", "get", "list", "search", "find", "grep", "ls", "cat", "fetch", "view", "query", "lookup", "look", "think", "route", "calculate",
    "show", "describe", "check", "browse", "open", "count", "compute", "inspect",
)  # fmt: skip


def only_reads(tool: str) -> bool:
    """Tell by a tool's name whether the tool only reads."""
    parts = re.split(r"[-_.:/]+|(?<=[a-z])(?=[A-Z])", tool)
    return any(part.casefold() in _READING for part in parts[:3] if part)


_PROOF_SHARE = 0.34
"""Share of a claim's words that a proving message must contain."""


def is_undone(said: ParsedPoint) -> bool:
    """Tell whether a point claims an act reported by no message."""
    if not claims_act(said.plain):
        return False
    if any(_proves(line, said) for line in support_of(said)):
        return False
    others = said.source.about(said.terms)
    if any(_proves(line, said) and _shares_half(line, said) for line in others):
        return False
    acts = (line for line in said.source.lines if not said.cited and _acted(line))
    return not any(_is_in_other_words(said, line) for line in acts)


def _shares_half(line: RenderedLine, said: ParsedPoint) -> bool:
    return len(said.terms & line_terms(line.text)) * 2 >= len(said.terms)


def _proves(line: RenderedLine, said: ParsedPoint) -> bool:
    if line.kind is LineKind.RESULT:
        step = said.source.by_step[line.step]
        if not _acted(line):
            return False
        names = [name for name in extract_identifiers(said.plain) if is_exact_name(name)]
        told = normal(" ".join(other.text for other in step))
        is_named = bool(kept_identifiers(told, names))
        return is_named or share_of(said.terms, step) >= _PROOF_SHARE or _is_in_other_words(said, line)
    if line.kind is LineKind.CALL:
        return False
    return tells_act(line.text) and share_of(said.terms, [line]) >= _PROOF_SHARE


def _acted(line: RenderedLine) -> bool:
    return line.kind is LineKind.RESULT and not line.failed and not only_reads(line.speaker)


def _is_in_other_words(said: ParsedPoint, line: RenderedLine) -> bool:
    """Say whether a point and a call differ in language, and so cannot be compared."""
    own = detect_language(said.plain)
    step = " ".join(other.text for other in said.source.by_step[line.step])
    theirs = detect_language(step)
    return own not in {UNKNOWN, "en"} and (theirs == UNKNOWN or not same_language(own, theirs))
