"""Evidence for a summary: messages that prove a deed, the mark of unproved claims, names to keep."""

# ruff: noqa: E501, RUF001 - tables of words in several scripts

import re
from collections.abc import Sequence
from dataclasses import dataclass

from context.conversation.transcript import LineKind, RenderedLine
from context.languages import by_language
from context.summary.others_words import drop_code
from context.summary.sections import PROTECTED, Section, SummaryDocument
from context.summary.source import ParsedPoint, is_exact_name, line_terms, share_of, support_of
from context.text.exact_values import extract_identifiers, kept_identifiers, normal, rank_identifiers
from context.text.language import UNKNOWN, detect_language, same_language
from context.types import Role

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


_CITED = re.compile(r"\[\s*(\d{1,9}(?:\s*[,;–-]\s*\d{1,9})*)(?:\s?·[^\[\]\n]{1,30})?\s*\]")
"""Numbers of messages, perhaps with the day: "[3 · 8 May 2023]"."""
_QUOTED = re.compile(r"`[^`]*`|\"[^\"]*\"|\w\[\d+\]")
_RANGE = re.compile(r"(\d+)(?:\s*[–-]\s*(\d+))?")

_MARKS = by_language(lambda one: one.unproven)
MARKED = re.compile(r"\((?:" + "|".join(map(re.escape, _MARKS.values())) + r")\)\W*\Z")
"""Pattern of the mark at the end of an unproven claim."""


@dataclass(frozen=True)
class Claims:
    """A summary with its claims checked.

    Attributes:
        notes: The summary: citations of unread messages are gone, claims without citations are marked.
        claims: The number of points that report finished work.
        unproven: The number of claims without a citation of a read message.
        false: The number of claims that cited only unread messages.
    """

    notes: SummaryDocument
    claims: int = 0
    unproven: int = 0
    false: int = 0


def check_claims(summary: SummaryDocument, known: range, *, language: str) -> Claims:
    """Mark the claims of a summary that lack proof; no content is lost.

    Args:
        summary: The summary, cleaned.
        known: The numbers of the messages read by the writer, or covered by the earlier notes.
        language: The language of the mark, an ISO 639-1 code; English if unknown.

    Returns:
        The summary with corrected claims, and their counts. A second run changes nothing.
    """
    mark = f" ({_MARKS.get(language, _MARKS['en'])})"
    written: list[str] = []
    claims = unproven = false = 0
    for line in summary.lines:
        # Tables and code are no points.
        is_point = bool(line.item) and not line.is_code and not line.text.lstrip().startswith("|")
        if not is_point or line.section is not Section.DONE:
            written.append(line.text)
            continue
        text = _only_known(line.text, known)
        is_proven = has_proof(text)
        claims, unproven = claims + 1, unproven + (not is_proven)
        false += not is_proven and text != line.text
        written.append(text if is_proven or is_unproven(text) else text.rstrip() + mark)
    return Claims(SummaryDocument("\n".join(written)), claims, unproven, false) if claims else Claims(summary)


def has_proof(claim: str) -> bool:
    """Tell whether a claim names a message, outside of quotes and code."""
    return _CITED.search(_masked(claim)) is not None


def without_sources(claim: str) -> str:
    """Remove message numbers and days from a point, since they are no part of the content."""
    return _CITED.sub(" ", claim)


def is_unproven(claim: str) -> bool:
    """Tell whether a claim carries the mark of an unproven claim."""
    return MARKED.search(claim) is not None


def _masked(text: str) -> str:
    return _QUOTED.sub(lambda quoted: " " * len(quoted[0]), text)


def _only_known(claim: str, known: range) -> str:
    """Remove citations of unread messages."""
    parts: list[str] = []
    position = 0
    for cited in _CITED.finditer(_masked(claim)):
        kept = _known_part(cited[1], known)
        if kept == cited[1]:
            continue
        before = claim[position : cited.start()]
        parts += [before, f"[{kept}]"] if kept else [before.rstrip()]
        position = cited.end()
    return "".join(parts) + claim[position:]


def _known_part(cited: str, known: range) -> str:
    """Drop unread message numbers from a citation; keep the read end of a range only partly read."""
    found = [(found[0], int(found[1]), int(found[2] or found[1])) for found in _RANGE.finditer(cited)]
    if all(first in known and last in known for _, first, last in found):
        return cited
    kept = (
        words if first in known and last in known else str(first if first in known else last)
        for words, first, last in found
        if first in known or last in known
    )
    return ", ".join(kept)


def protected_identifiers(previous: SummaryDocument, *, limit: int) -> list[str]:
    """Name the protected parts of the last summary: constraints, open work and identifiers.

    Args:
        previous: The last summary.
        limit: The most names.

    Returns:
        The names, heaviest first.
    """
    sources = [
        (without_sources(item), 1.0) for section in PROTECTED for item in previous.sections.get(section, [])
    ]
    return rank_identifiers(sources, limit=limit)


_WEIGHTS = {LineKind.TEXT: 1.0, LineKind.CALL: 3.0, LineKind.RESULT: 0.0}
_USER_WEIGHT = 4.0


def covered_identifiers(lines: Sequence[RenderedLine], *, limit: int) -> list[str]:
    """Name the identifiers of a transcript that a summary should keep: from users' words and tool arguments.

    Args:
        lines: The transcript.
        limit: The most names.

    Returns:
        The names, heaviest first. Users' words and calls' arguments weigh more than models' words; names
        found only in tool output do not count.
    """
    tools = {line.text.split("(", 1)[0] for line in lines if line.kind is LineKind.CALL}
    tools |= {line.speaker for line in lines if line.kind is LineKind.RESULT}
    told = ((own_words(line), _weight(line)) for line in lines)
    ranked = rank_identifiers(told, limit=limit + len(tools))
    return [name for name in ranked if name.rstrip("()") not in tools][:limit]


def own_words(line: RenderedLine) -> str:
    """Drop words a speaker did not write: the name of the called tool, and pasted code.

    Args:
        line: A line of a transcript.

    Returns:
        The arguments of a call; of words, the prose.
    """
    if line.kind is LineKind.CALL:
        return line.text.partition("(")[2]
    return drop_code(line.text) if line.kind is LineKind.TEXT else line.text


def _weight(line: RenderedLine) -> float:
    return _USER_WEIGHT if line.role is Role.USER and line.kind is LineKind.TEXT else _WEIGHTS[line.kind]
