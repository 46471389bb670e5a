"""Rules told without an order's verb, in many languages, against facts with the words of rules."""

# ruff: noqa: RUF001 - sentences in many scripts

import pytest

from context.summary.user_rules import is_addressed_rule, is_rule

RULES = (
    "Nobody waters between 11:00 and 17:00.",
    "No one leaves before the bell at 15:00.",
    "No slug pellets, there are hedgehogs. That is a rule.",
    "House rule: shoes off at the door.",
    "No washing machine after 22:00.",
    "Wichtig: Kein Grapefruitsaft, das verträgt sich nicht mit den Tabletten.",
    "Genau, nach 22 Uhr keine Waschmaschine.",
    "Achtung: niemand fährt mit dem alten Rad.",
    "Hausregel: Schuhe aus an der Tür.",
    "Una regla desde ya: nada de gastar más de 180 euros por persona.",
    "Nuria es alérgica a los frutos secos, así que no llevamos nada con almendras.",
    "El dueño pidió que no haya ruido después de las 23:00.",
    "Mejor no compres queso.",
    "Regra do jogo: ninguém da tripulação pode morrer sem eu decidir.",
    "Nada de barulho depois das 22 horas.",
    "Important : pas de noix, Léa est allergique.",
    "Après 22 h pas de musique.",
    "Regola della casa: niente scarpe in salotto.",
    "Dopo le 22 niente musica.",
    "Belangrijk: geen noten voor Daan.",
    "Na 22 uur geen muziek.",
    "Zasada: żadnych orzechów w kuchni.",
    "Правило: никакой музыки после 23:00.",
    "После 23:00 никакой музыки.",
    "Правило: жодних горіхів на кухні.",
    "规则：晚上十点以后不放音乐。",
    "ルール：夜十時以降は音楽なし。",
    "규칙: 밤 열 시 이후에는 음악 없음.",
    "Kural: saat 22'den sonra müzik yok.",
)
NONE = (
    "Only Altmarkt opens on Sunday.",
    "No, solo acepta transferencia.",
    "I'd rather have the refund.",
    "¿Y el presupuesto? Con 640 entre seis nos salen 107 por cabeza solo la casa.",
    "Erro sempre a data da Sabinada.",
    "Jogamos dois canhões.",
    "Nobody knows the code.",
    "Nobody liked the film.",
    "Important: the meeting is at five.",
    "Wichtig: Das Treffen ist um fünf.",
    "Nach 22 Uhr fahren keine Züge mehr.",
    "After 10 pm there are no buses.",
    "Nein, er nimmt nur Bargeld.",
    "Sì, accetta solo contanti.",
    "Só o Altmarkt abre no domingo.",
    "Solo Altmarkt abre los domingos.",
    "No tenemos nada en la nevera.",
    "The rules of the game are long.",
    "Which rule: the old or the new?",
    "Llego siempre tarde al trabajo.",
    "Arrivo sempre tardi.",
    "Нет, там только наличные.",
    "Nessuno lo sa.",
)


@pytest.mark.parametrize("sentence", RULES)
def test_a_rule_without_an_orders_verb_is_one(sentence: str) -> None:
    assert is_addressed_rule(sentence)


@pytest.mark.parametrize("sentence", NONE)
def test_an_answer_a_wish_and_a_fact_are_none(sentence: str) -> None:
    assert not is_addressed_rule(sentence)
    assert not is_rule(sentence)
