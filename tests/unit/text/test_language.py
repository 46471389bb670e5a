# ruff: noqa: E501, RUF001 - sentences in their languages' own letters
"""Telling languages apart, and admitting when it cannot be told."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from context.text.language import (
    detect_language,
    language_name,
    language_shares,
    main_language,
    same_language,
)
from tests.data import data_dir, read_jsonl
from tests.unit.linear.growth import grows_in_proportion
from tests.unit.linear.texts import Shape

SENTENCES = {
    "en": "Please add a retry to the upload and make sure that we never send it twice.",
    "de": "Bitte füge einen erneuten Versuch beim Hochladen hinzu und sende die Datei nie zweimal.",
    "fr": "Ajoute une nouvelle tentative au téléversement et ne l'envoie jamais deux fois, s'il te plaît.",
    "es": "Por favor añade un reintento a la subida y no la envíes nunca dos veces.",
    "pt": "Por favor adicione uma nova tentativa ao envio e não o envie duas vezes.",
    "it": "Per favore aggiungi un nuovo tentativo al caricamento e non inviarlo mai due volte.",
    "nl": "Voeg een nieuwe poging toe aan het uploaden en stuur het nooit twee keer.",
    "pl": "Proszę dodaj ponowną próbę do wysyłania i nigdy nie wysyłaj pliku dwa razy.",
    "tr": "Lütfen yüklemeye bir yeniden deneme ekle ve dosyayı asla iki kez gönderme.",
    "sv": "Lägg till ett nytt försök för uppladdningen och skicka det inte två gånger.",
    "ru": "Добавь повторную попытку загрузки и никогда не отправляй файл дважды.",
    "uk": "Додай повторну спробу завантаження і ніколи не надсилай файл двічі.",
    "zh": "请为上传添加重试，并确保不会发送两次。",
    "ja": "アップロードに再試行を追加し、二回送信しないようにしてください。",
    "ko": "업로드에 재시도를 추가하고 두 번 보내지 않도록 해 주세요.",
    "ar": "أضف إعادة المحاولة إلى الرفع ولا ترسله مرتين أبدا من فضلك.",
    "he": "הוסף ניסיון חוזר להעלאה ואל תשלח את זה פעמיים.",
    "hi": "अपलोड में पुनः प्रयास जोड़ें और इसे कभी दो बार न भेजें।",
    "th": "กรุณาเพิ่มการลองใหม่ในการอัปโหลดและอย่าส่งสองครั้ง",
    "fi": "Lisää lähetykseen uusi yritys ja varmista, että tiedostoa ei lähetetä kahta kertaa, kun yhteys on poikki.",
    "hu": "Kérem, adjon hozzá egy új próbálkozást a feltöltéshez, és ne küldje el kétszer, ha már egyszer megérkezett.",
    "hr": "Molim vas, dodajte ponovni pokušaj slanja i nemojte nikada poslati datoteku dvaput ako je već stigla.",
    "et": "Palun lisa üleslaadimisele uus katse ja ära saada faili kaks korda, kui see on juba kohale jõudnud.",
    "lt": "Prašau pridėti pakartotinį bandymą prie įkėlimo ir niekada nesiųsti failo du kartus, jei jis jau gautas.",
    "lv": "Lūdzu, pievieno augšupielādei atkārtotu mēģinājumu un nekad nesūti failu divas reizes, ja tas jau ir saņemts.",
    "sq": "Ju lutem shtoni një provë të re për ngarkimin dhe mos e dërgoni kurrë dy herë nëse është marrë.",
    "sw": "Tafadhali ongeza jaribio jipya la kupakia na usitume faili hiyo mara mbili kama tayari imefika kwa seva.",
    "tl": "Pakidagdag ng bagong pagsubok sa pag-upload at huwag itong ipadala nang dalawang beses kung dumating na ito.",
    "bn": "আপলোডে আবার চেষ্টা যোগ করুন এবং এটি কখনও দুবার পাঠাবেন না।",
    "ta": "பதிவேற்றத்தில் மறுமுயற்சியைச் சேர்த்து, அதை இருமுறை அனுப்ப வேண்டாம்.",
    "ka": "დაამატე ატვირთვის ხელახალი მცდელობა და არასოდეს გააგზავნო ორჯერ.",
    "hy": "Ավելացրեք վերբեռնման նոր փորձ և երբեք երկու անգամ մի ուղարկեք։",
    "te": "అప్‌లోడ్‌కు మళ్లీ ప్రయత్నాన్ని జోడించండి మరియు రెండుసార్లు పంపవద్దు.",
    "am": "እባክዎ ለመጫን አዲስ ሙከራ ይጨምሩ እና ሁለት ጊዜ አይላኩት።",
    "el": "Πρόσθεσε μια νέα προσπάθεια στη μεταφόρτωση και μην το στείλεις ποτέ δύο φορές.",
}


@pytest.mark.parametrize("code", SENTENCES)
def test_a_sentence_is_told(code: str) -> None:
    assert detect_language(SENTENCES[code]) == code


@pytest.mark.parametrize(
    "text",
    [
        "",
        "ok",
        "yes",
        "12345",
        "???",
        "npm run check",
        "/usr/local/bin/python3",
        '{"a": [1, 2]}',
        "HAT017 JFK LAX",
        "🙂👍",
    ],
)
def test_text_without_prose_is_not_told(text: str) -> None:
    assert detect_language(text) == "und"


@pytest.mark.parametrize("code", ["de", "ru", "zh", "ja", "ar"])
def test_code_between_the_words_does_not_change_the_language(code: str) -> None:
    block = "```python\nfor item in the_list_of_items:\n    if item is not None and item in other:\n        print(item)\n```"
    text = f"{SENTENCES[code]}\n{block}\nsrc/app/main.py `return the value` https://example.com/the/and/of {SENTENCES[code]}"
    assert detect_language(text) == code


def test_half_and_half_is_not_told() -> None:
    assert detect_language(SENTENCES["en"] + " " + SENTENCES["ru"]) == "und"


def test_a_few_kanji_words_with_kana_are_japanese_not_chinese() -> None:
    assert detect_language("東京都庁の営業時間を教えて") == "ja"


@given(st.text(max_size=300))
def test_any_text_has_an_answer_and_shares_that_sum_to_one(text: str) -> None:
    shares = language_shares(text)
    assert not shares or abs(sum(shares.values()) - 1) < 1e-9
    assert detect_language(text) == detect_language(text)


def test_the_main_language_is_that_of_most_words() -> None:
    assert main_language([SENTENCES["de"], "ok", SENTENCES["de"], SENTENCES["en"]]) == "de"


def test_a_conversation_without_words_has_no_language() -> None:
    assert main_language(["ok", "42", ""]) == "und"


@pytest.mark.parametrize(
    ("one", "other"), [("pt", "pt-BR"), ("no", "da"), ("zh-Hans", "zh"), ("und", "en"), (None, "fr")]
)
def test_codes_that_can_stand_for_one_language_agree(one: str | None, other: str) -> None:
    assert same_language(one, other)
    assert same_language(other, one)


@pytest.mark.parametrize(("one", "other"), [("en", "ru"), ("es", "pt"), ("ru", "uk"), ("zh", "ja")])
def test_languages_that_readers_tell_apart_differ(one: str, other: str) -> None:
    assert not same_language(one, other)


def test_a_language_has_a_name_to_ask_for() -> None:
    assert language_name("pt-BR") == "Portuguese"
    assert language_name("und") is None


@pytest.mark.data
def test_recorded_prompts_are_never_taken_for_another_language() -> None:
    wanted = {"zh": {"zh"}, "ja": {"ja"}, "ko": {"ko"}, "cyrillic": {"ru", "uk", "bg", "sr"}}
    records = read_jsonl(data_dir("multilingual") / "prompts.jsonl")
    told = [(record["lang"], detect_language(record["text"])) for record in records]
    wrong = [pair for pair in told if pair[1] not in wanted[pair[0]] | {"und", "en"}]
    assert wrong == []
    assert sum(code in wanted[lang] for lang, code in told) / len(told) > 0.85


@pytest.mark.data
def test_recorded_english_is_never_taken_for_another_language() -> None:
    words = [
        message["content"]
        for record in read_jsonl(data_dir("tau_airline") / "trajectories.jsonl")
        for message in record["messages"]
        if message["role"] in {"user", "assistant"} and message["content"]
    ]
    wrong = [text for text in words if detect_language(text) not in {"en", "und"}]
    assert len(wrong) <= len(words) / 500


@pytest.mark.parametrize("unit", ["x", "字", "の", "ก", "aB", "é", "1", "`", "<", "x.", "ab_", "。"])
def test_text_without_blanks_takes_no_longer_than_its_length_asks_for(unit: str) -> None:
    assert grows_in_proportion(detect_language, Shape(unit).text)


def test_the_order_of_words_does_not_decide_between_languages() -> None:
    """Its hits add up to just what is needed; in some orders a sum of thirds falls short of it."""
    words = ["The", "y", "coordinate", "(vertical", "axis)", "to", "move", "to,", "in", "units."]
    assert {detect_language(" ".join(words[at:] + words[:at])) for at in range(len(words))} == {"en"}
