# ruff: noqa: E501 - tables in the letters of the language
"""Words of Polish."""

from context.languages import Language

LANGUAGE = Language(
    code="pl",
    name="Polish",
    script="latin",
    stop_words=(
        "i w nie się na z że do to jest o jak ale po co tak za od dla przez był była było są być może tylko już jego jej ich który która "
        "które tym tego tej ten ta te czy przy bez oraz ma mam mamy proszę jeśli gdy bardzo można trzeba musi lub więc też jeszcze teraz"
    ),
    telling_letters="łąęśźżń",
    section_titles=(
        "Cel|Obowiązujące ograniczenia|Decyzje i powody|Wykonana praca|Otwarte zadania|Artefakty i dokładne identyfikatory|"
        "Osoby i kto co powiedział"
    ),
    unproven="niepotwierdzone",
    refusals="przykro mi|niestety nie mogę|niestety, nie mogę|nie mogę |przepraszam, ale",
    input_requests="proszę podać|proszę przesłać|w czym mogę pomóc",
    negations="nigdy bez",
    which_words="jaki jaka jakie który które",
    every_words="wszyscy wszystkie każdy",
    some_words="niektórzy niektóre",
    actions=(
        "napisz|stwórz|znajdź|szukaj|przetłumacz|podsumuj|pokaż|wyślij|przeczytaj|usuń|zapisz|zapamiętaj|narysuj|wygeneruj|sprawdź|opublikuj|"
        "oblicz|porównaj|pobierz"
    ),
    endings=None,
    mail={
        "from": "od",
        "sent": "wysłano|wysłane",
        "subject": "temat",
        "wrote": "napisał|napisała|napisał(a)|pisze",
        "forwarded": "wiadomość przekazana|przekazana wiadomość|oryginalna wiadomość|wiadomość oryginalna",
    },
    markers={
        "smalltalk": r"jak (?:się masz|leci|minął|minęła|minęło|tam)|co słychać",
        "anew": r"od teraz|od dziś|odtąd",
        "order": r"wysyłaj\w*|wyślij|pisz|odpowiadaj|używaj|proszę|mi",
        "frame": r"chce|kosztuje|cena|bierze|jest|będzie|zaplanowan\w+|zaczyna|godzin\w*|za",
        "filler": "potrzebuję|potrzeba|chcę|chcesz|dać|daj|iść|idzie|robić|zrobić|wziąć|powiedzieć|powiedz|wiedzieć|myśleć|dużo|ile|rzecz|rzeczy|sposób|koniec|naprawdę|obecnie|coś|ktoś|wreszcie|muszę|mogę|możesz",
        "rule": r"musi|musisz|muszą|nie wolno|nie \w+(?:j|jcie)|nigdy|zawsze|tylko|najwyżej|co najmniej|zabronione|należy",
        "strong": r"nigdy|zabronion\w+|nie wolno|pod żadnym pozorem|bez (?:mojej|mojego)|zawsze",
        "wish": "chcę|potrzebuję|proszę|czy możesz",
        "decision": "zdecydowano|zdecydowaliśmy|wybieramy|zamiast|ponieważ|ustalone",
        "open": "jeszcze nie|następny krok|oczekuje",
        "done": "zrobione|gotowe|naprawione|utworzono|dodano",
        "ended": "uchylon[aey]|odwołan[aey]|już nie obowiązuje|nie jest już",
        "unsure": "jeśli|gdy|będzie|może",
        "failed": "nie|błąd",
        "duty": r"musi|musisz|muszą|nie wolno|nie \w+(?:j|jcie)|zabronione|należy",
        "always": "nigdy|zawsze|tylko",
        "weak": "nigdy|zawsze|tylko|najwyżej|co najmniej",
        "address": "proszę",
        "story": "ja",
        "limit": "nie więcej niż",
        "joint": "i|ale",
        "worked": r"powiod\w*|udał\w*",
        "tried": r"prób\w*|spróbow\w*",
        "decides": r"zdecyd\w*",
        "agrees": r"zgodzi\w*|zaakceptow\w*|zatwierdz\w*|przyję\w*",
        "refuses": r"odmówi\w*|odrzuci\w*|przeciw\w*",
        "changed": r"teraz|now[yae]|zmienion\w|przesunięt\w",
        "moved": r"przesunięt\w|przełożon\w",
        "moved_to": "na",
        "deadline": "termin",
        "announced": "zasada|reguła",
        "instead": "zamiast tego",
        "urgent": "ważne|uwaga",
        "ban": r"żadn\w+ \w+(?= (?:po|przed|między|do|od) )",
    },
    signs=None,
)
