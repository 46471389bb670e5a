# ruff: noqa: E501, RUF001 - sentences in several scripts
"""Who agreed and who refused, and which name did what to which: told otherwise than in the source."""

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tests.unit.summary.test_relations import doubts

TALKS = (
    (
        (
            "Ida",
            "The board said no to the new roof on Monday. Anna told Ben the code of the gate, and Carl waits for the glass.",
        ),
        ("Ole", "We turned down the offer of Brandt. The insurer approved the claim for the barn."),
        ("Ida", "Malte lent Jens the trailer. Jens will pay Malte 40 for it."),
    ),
    (
        (
            "Ida",
            "Der Vorstand hat den Umbau abgelehnt. Petra hat Olaf den Schlüssel gegeben, Karin war nicht da.",
        ),
        ("Ole", "Die Versicherung hat dem Antrag zugestimmt. Wir haben das Angebot von Brandt angenommen."),
    ),
    (
        ("Léa", "Le conseil a refusé le nouveau toit. Marc a prêté la remorque à Luc."),
        ("Paul", "L'assureur a accepté la demande de Nadia."),
    ),
    (
        ("Eva", "La junta rechazó el techo nuevo. Marta llamó a Pedro por la llave."),
        ("Iván", "El seguro aprobó la solicitud del granero."),
    ),
    (
        ("Ира", "Правление отказалось от новой крыши. Анна отдала Борису ключ от ворот."),
        ("Лев", "Страховая одобрила заявку на ремонт."),
    ),
    (
        ("老周", "董事会拒绝了新屋顶的方案。"),
        ("小林", "保险公司同意了仓库的赔偿申请。"),
    ),
    (
        (
            "Nia",
            "The owner rejected our quote for the pool. Rosa showed Tim the leak, and Vera ordered the pump.",
        ),
        ("Sam", "The bank consented to the loan, but the city is against the fence."),
    ),
    (
        ("Bea", "De raad heeft het plan voor de brug afgewezen. Joris heeft Lotte de sleutel gegeven."),
        ("Ton", "Het bestuur ging akkoord met de nieuwe kantine."),
    ),
    (
        ("Gio", "Il comitato ha rifiutato la proposta di Neri. Carla ha chiamato Dario per il furgone."),
        ("Lia", "Il comune ha approvato il mercato."),
    ),
    (
        ("佐藤", "委員会は新しい倉庫の計画を却下しました。"),
        ("田中", "銀行は融資の申請を承認しました。"),
    ),
)


@pytest.mark.parametrize(
    ("talk", "point"),
    [
        (0, "The board said no to the new roof [1]"),
        (0, "Anna told Ben the code of the gate [1]"),
        (0, "Ben was told the code of the gate by Anna [1]"),
        (0, "They turned down the offer of Brandt [2]"),
        (0, "They declined the offer of Brandt [2]"),
        (0, "The insurer accepted the claim for the barn [2]"),
        (0, "Malte lent Jens the trailer [3]"),
        (0, "Jens pays Malte 40 for the trailer [3]"),
        (1, "Der Vorstand hat den Umbau abgelehnt [1]"),
        (1, "Der Vorstand ist gegen den Umbau [1]"),
        (1, "Petra hat Olaf den Schlüssel gegeben [1]"),
        (1, "Olaf hat den Schlüssel von Petra [1]"),
        (1, "Die Versicherung hat den Antrag genehmigt [2]"),
        (2, "Le conseil a dit non au nouveau toit [1]"),
        (2, "Marc a prêté la remorque à Luc [1]"),
        (2, "L'assureur a approuvé la demande de Nadia [2]"),
        (3, "La junta dijo que no al techo nuevo [1]"),
        (3, "Marta llamó a Pedro por la llave [1]"),
        (3, "El seguro aceptó la solicitud del granero [2]"),
        (4, "Правление отказалось от новой крыши [1]"),
        (4, "Анна отдала Борису ключ [1]"),
        (4, "Страховая согласилась с заявкой на ремонт [2]"),
        (5, "董事会拒绝了新屋顶的方案 [1]"),
        (5, "保险公司批准了仓库的赔偿申请 [2]"),
        (6, "The owner declined the quote for the pool [1]"),
        (6, "Rosa showed Tim the leak [1]"),
        (6, "Vera ordered the pump [1]"),
        (6, "The bank approved the loan [2]"),
        (6, "The city is against the fence, the bank approved the loan [2]"),
        (6, "Nia and Sam spoke of the fence [1-2]"),
        (7, "De raad heeft het plan voor de brug verworpen [1]"),
        (7, "Joris heeft Lotte de sleutel gegeven [1]"),
        (7, "Het bestuur heeft de nieuwe kantine goedgekeurd [2]"),
        (8, "Il comitato ha respinto la proposta di Neri [1]"),
        (8, "Carla ha chiamato Dario per il furgone [1]"),
        (8, "Il comune ha accettato il mercato [2]"),
        (9, "委員会は新しい倉庫の計画を拒否しました [1]"),
        (9, "銀行は融資の申請に同意しました [2]"),
    ],
)
def test_the_same_in_other_words_stands(talk: int, point: str) -> None:
    assert doubts(TALKS[talk], point) == set()


@pytest.mark.parametrize(
    ("talk", "point"),
    [
        (0, "The board agreed to the new roof on Monday [1]"),
        (0, "Anna told Carl the code of the gate [1]"),
        (0, "Ben told Anna the code of the gate [1]"),
        (0, "The offer of Brandt was accepted [2]"),
        (0, "The insurer refused the claim for the barn [2]"),
        (0, "Jens lent Malte the trailer [3]"),
        (0, "Malte will pay Jens 40 for it [3]"),
        (1, "Der Vorstand hat dem Umbau zugestimmt [1]"),
        (1, "Olaf hat Petra den Schlüssel gegeben [1]"),
        (1, "Petra hat Karin den Schlüssel gegeben [1]"),
        (1, "Das Angebot von Brandt wurde abgelehnt [2]"),
        (2, "Le conseil a accepté le nouveau toit [1]"),
        (2, "Luc a prêté la remorque à Marc [1]"),
        (2, "L'assureur a refusé la demande de Nadia [2]"),
        (3, "La junta aceptó el techo nuevo [1]"),
        (3, "Pedro llamó a Marta por la llave [1]"),
        (3, "El seguro rechazó la solicitud del granero [2]"),
        (4, "Правление согласилось на новую крышу [1]"),
        (4, "Борис отдал Анне ключ от ворот [1]"),
        (4, "Страховая отклонила заявку на ремонт [2]"),
        (5, "董事会同意了新屋顶的方案 [1]"),
        (5, "保险公司拒绝了仓库的赔偿申请 [2]"),
        (6, "The owner approved the quote for the pool [1]"),
        (6, "Tim showed Rosa the leak [1]"),
        (6, "Rosa showed Vera the leak [1]"),
        (6, "Tim ordered the pump [1]"),
        (6, "The bank refused the loan [2]"),
        (6, "The city agreed to the fence [2]"),
        (7, "De raad heeft het plan voor de brug goedgekeurd [1]"),
        (7, "Lotte heeft Joris de sleutel gegeven [1]"),
        (7, "Het bestuur heeft de nieuwe kantine afgewezen [2]"),
        (8, "Dario ha chiamato Carla per il furgone [1]"),
        (8, "Il comune ha rifiutato il mercato [2]"),
        (9, "委員会は新しい倉庫の計画を承認しました [1]"),
        (9, "銀行は融資の申請を却下しました [2]"),
    ],
)
def test_another_answer_or_another_name_is_doubted(talk: int, point: str) -> None:
    assert doubts(TALKS[talk], point)


NAMES = ("Orion", "Lyra", "Vega", "Atlas", "Rigel", "Altair")
DEEDS = ("showed {} the pump of the barn", "lent {} a trailer for Monday", "called {} about the broken lamp")


@settings(max_examples=40)
@given(st.permutations(NAMES), st.sampled_from(DEEDS))
def test_no_name_may_change_places_or_stand_for_another(names: list[str], deed: str) -> None:
    doer, other, third = names[:3]
    talk = (("Ida", f"{doer} {deed.format(other)}. {third} waits for the glass."),)
    assert doubts(talk, f"{doer} {deed.format(other)} [1]") == set()
    assert doubts(talk, f"{other} {deed.format(doer)} [1]")
    assert doubts(talk, f"{doer} {deed.format(third)} [1]")
    assert doubts(talk, f"{third} {deed.format(other)} [1]")


def test_a_name_of_whom_the_same_is_said_elsewhere_stands() -> None:
    talk = (("Ida", "Vega showed Lyra the pump of the barn. She showed Atlas the pump too."),)
    assert doubts(talk, "Vega showed Atlas the pump of the barn [1]") == set()


def test_an_answer_that_changed_stands() -> None:
    talk = (
        ("Ida", "The bank refused the loan for the barn."),
        ("Ole", "Now the bank accepted the loan for the barn."),
    )
    assert doubts(talk, "The bank accepted the loan for the barn [1-2]") == set()
    assert doubts(talk, "The bank accepted the loan for the barn [2]") == set()
