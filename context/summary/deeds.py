"""Deeds: sentences that report an act as done, and messages that prove it."""

# ruff: noqa: E501, RUF001 - tables of words in several scripts

import re
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace

from context.conversation.transcript import LineKind, RenderedLine
from context.languages import all_phrases
from context.summary.sections import Section
from context.summary.source import PREFIX, ParsedPoint, is_exact_name, line_terms, share_of, support_of
from context.text.cut import split_sentences
from context.text.exact_values import extract_identifiers, kept_identifiers, normal
from context.text.language import UNKNOWN, detect_language, same_language

_SPACED = (
    "changed|updated|modified|booked|rebooked|cancell?ed|refunded|sent|emailed|deleted|removed|created|added|deployed|installed|merged|pushed|"
    "committed|restarted|stopped|started|fixed|resolved|implemented|completed|finished|paid|charged|transferred|ordered|purchased|scheduled|"
    "moved|renamed|written|wrote|saved|published|uploaded|approved|signed|reserved|issued|applied|configured|migrated|replaced|confirmed|"
    "upgraded|downgraded|submitted|delivered|shipped|granted|forwarded|activated|deactivated|enabled|disabled|verified|tested|built|released|"
    "exchanged|assigned|reissued|reinstated|went through|carried out|put through|succeeded|successful(?:ly)?|"
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
_ACTS = re.compile(rf"(?<!\w)(?:{_SPACED})(?!\w)|{_UNSPACED}")
_NOT_YET = re.compile(
    r"(?<!\w)(?:not|never|n't|\w+n't|cannot|if|whether|unless|until|before|once|should|would|will|shall|to be|can|could|may|must|might|wants?|asks?|going to|gonna|about to|let me|let's|"
    r"asked|asking|needs?|"
    r"nicht|kein\w{0,2}|noch|ob|wenn|soll|werden|kann|können|könnten?|würden?|"
    r"pas|si|faut|peut|peuvent|pourrai\w{0,3}|no|sin|pued[eo]n?|podemos|podría|não|sem|pode|podem|non|se|può|possono|niet|kan|kunnen|nie|może|mogą|"
    r"bez|не|если|чтобы|нужно|может|могут|можно|ні|якщо|може|можуть|değil)(?!\w)"
    r"|[?？؟]|没|未|不|可以|能够|ない|できる|ません|안 |않|못|수 있|لم |لا |يمكن|לא |יכול|नहीं|सकत"
)
_CLAUSE = re.compile(
    r"[,;:，、；]\s?|\s(?:and|but|und|aber|et|mais|y|pero|e|ma|mas|en|maar|i|ale|и|но|а|та|але|ve|ama)\s"
)
_FAILED = re.compile(
    "|".join(rf"(?<!\w){words}(?!\w)" for words in all_phrases(lambda one: (one.markers or {}).get("failed")))
)


_PARTICIPLE = re.compile(
    r"(?<!\w)(?:was|were|been|is|are|has|have|had)\s(?:\w+ly\s)?(\w{3,}(?:ed|en|wn|lt|nt|ught))(?!\w)"
    r"|(?<!\w)(?:a|ont|été|est|sont|fue|fueron|ha|han|sido|foi|foram|stat[oaie]|hanno)\s(\w{3,}(?:é|ée|és|ées|[aiu][dt][oaeis]{1,2}))(?!\w)"
)
"""Verbs of deeds that no list has, by their endings."""


def _stated(sentence: str) -> str:
    """Keep the parts of a sentence that state something, folded; a question states nothing."""
    folded = sentence.casefold().replace("’", "'")
    if folded.rstrip(" \"'»”)*").endswith(("?", "？", "؟")):
        return ""
    return ", ".join(part for part in _CLAUSE.split(folded) if not _denies(part))


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


_PROOF_SHARE, _ELSEWHERE_SHARE, _SYNONYM_SHARE, _WHOLE_SHARE = 0.34, 0.5, 0.67, 0.8
"""Share of a claim's words in a sentence of the message that it names or one beside it, in a sentence of
another message, in a sentence with another act, and in a message that repeats the claim."""


def is_undone(said: ParsedPoint) -> bool:
    """Tell whether a point claims an act reported by no message.

    A point among the work done that names no known act claims one too. Any outcome that it cites proves it.
    """
    claim = _Claim.of(said)
    if not claim.acts and (
        said.line.section is not Section.DONE or not said.cited or _denies(said.plain.casefold())
    ):
        return False
    if any(_proves(line, claim) for line in support_of(said)):
        return False
    beside = said.source.near(seq + step for seq in said.cited for step in (-1, 1))
    if any(line.kind is LineKind.TEXT and _says_done(line, claim) for line in beside):
        return False
    if claim.acts and any(_proves_elsewhere(line, claim) for line in said.source.about(said.terms)):
        return False
    if said.cited:
        return True
    names = extract_identifiers(said.plain)
    deeds = [line for line in said.source.lines if _acted(line)]
    return not any(_names_any(names, line, said) or _is_in_other_words(said, line) for line in deeds)


@dataclass(frozen=True)
class _Claim:
    """A point that claims work: its acts of the table, the stems of all its deeds, and its words, codes whole."""

    said: ParsedPoint
    acts: Sequence[str]
    stems: frozenset[str]
    terms: frozenset[str]

    @classmethod
    def of(cls, said: ParsedPoint) -> "_Claim":
        stated = [_stated(sentence) for sentence in split_sentences(said.plain)]
        acts = [found[0] for part in stated for found in _ACTS.finditer(part)]
        others = [found[1] or found[2] for part in stated for found in _PARTICIPLE.finditer(part)]
        terms = frozenset(
            term for term in said.terms if not any(term != other and term in other for other in said.terms)
        )
        return cls(said, acts, frozenset(map(_stem, [*acts, *others])), terms)

    def is_told_in(self, stated: str, line: RenderedLine, share: float) -> bool:
        """Tell whether what a sentence states has a share of the claim's words, and its deed."""
        told = share_of(self.terms, [replace(line, text=stated)])
        if told < share:
            return False
        acts = [found[0] for found in _ACTS.finditer(stated)]
        deeds = acts if self.acts else stated.split()
        is_same = not self.stems or any(_stem(deed) in self.stems for deed in deeds)
        return is_same or (told >= _SYNONYM_SHARE and bool(self.acts and acts))


def _stem(act: str) -> str:
    """The beginning of the verb of an act, without the little words of its tense."""
    return max(act.strip("已经了").split() or [act], key=len)[:PREFIX]


def _names_any(names: Iterable[str], line: RenderedLine, said: ParsedPoint) -> bool:
    """Say whether a step has a name of a point that names no message."""
    step = said.source.by_step[line.step]
    return any(name in other.text for name in names for other in step)


def _denies(plain: str) -> bool:
    return _NOT_YET.search(plain) is not None or _FAILED.search(plain) is not None


def _proves(line: RenderedLine, claim: _Claim) -> bool:
    said = claim.said
    if line.kind is LineKind.RESULT:
        step = said.source.by_step[line.step]
        if line.failed or (claim.acts and only_reads(line.speaker)):
            return False
        names = [name for name in extract_identifiers(said.plain) if is_exact_name(name)]
        told = normal(" ".join(other.text for other in step))
        share = share_of(said.terms, step)
        is_near = share >= _PROOF_SHARE if claim.acts else share > 0
        return is_near or bool(kept_identifiers(told, names)) or _is_in_other_words(said, line)
    return line.kind is LineKind.TEXT and _says_done(line, claim)


def _proves_elsewhere(line: RenderedLine, claim: _Claim) -> bool:
    """Let a message prove that the claim does not name: with half of its words."""
    if line.kind is LineKind.RESULT:
        terms = claim.said.terms
        return _proves(line, claim) and len(terms & line_terms(line.text)) * 2 >= len(terms)
    stated = map(_stated, split_sentences(line.text))
    return line.kind is LineKind.TEXT and any(claim.is_told_in(one, line, _ELSEWHERE_SHARE) for one in stated)


def _says_done(line: RenderedLine, claim: _Claim) -> bool:
    """Say whether a message states a claim in one sentence, or repeats it over several."""
    stated = [_stated(sentence) for sentence in split_sentences(line.text)]
    return any(claim.is_told_in(one, line, _PROOF_SHARE) for one in stated) or claim.is_told_in(
        ", ".join(stated), line, _WHOLE_SHARE
    )


def _acted(line: RenderedLine) -> bool:
    return line.kind is LineKind.RESULT and not line.failed and not only_reads(line.speaker)


def _is_in_other_words(said: ParsedPoint, line: RenderedLine) -> bool:
    """Say whether a point and a call differ in language, and so cannot be compared."""
    own = detect_language(said.plain)
    step = " ".join(other.text for other in said.source.by_step[line.step])
    theirs = detect_language(step)
    return own not in {UNKNOWN, "en"} and (theirs == UNKNOWN or not same_language(own, theirs))
