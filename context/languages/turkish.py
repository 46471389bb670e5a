# ruff: noqa: E501, RUF001 - tables in the letters of the language
"""Words of Turkish."""

from context.languages import Language

LANGUAGE = Language(
    code="tr",
    name="Turkish",
    script="latin",
    stop_words=(
        "ve bir bu da de için ile çok ne ama o daha gibi var yok mi mı mu mü değil olarak olan kadar sonra ben sen biz siz onlar ki ya en her "
        "şey şu olur oldu olduğu olması lütfen nasıl neden hangi gerek gerekiyor veya ancak hem içinde üzerinde göre tüm artık şimdi"
    ),
    telling_letters="ğış",
    section_titles="Amaç|Geçerli kısıtlar|Kararlar ve gerekçeler|Yapılan işler|Açık işler|Dosyalar ve kesin tanımlayıcılar|Kişiler ve kim ne dedi",
    unproven="doğrulanmadı",
    refusals="üzgünüm|maalesef |özür dilerim",
    input_requests="lütfen konuşmayı|nasıl yardımcı olabilirim",
    negations="değil yok",
    which_words="hangi",
    every_words="tüm bütün her",
    some_words=None,
    actions=None,
    endings="lar ler",
    mail={
        "from": "kimden|gönderen",
        "sent": "gönderildi|gönderme tarihi",
        "subject": "konu",
        "wrote": "yazdı|şunu yazdı|şunları yazdı",
        "forwarded": "iletilen ileti|yönlendirilen mesaj|özgün ileti",
    },
    markers={
        "smalltalk": r"nasılsın\w*|ne haber|naber|hafta sonun nasıl\w*",
        "filler": "lazım|gerek|gerekiyor|istiyorum|ver|git|gel|yap|yapmak|al|söyle|bil|düşün|çok|kaç|şey|şeyler|son|sonunda|gerçekten|şimdi|biri|nihayet|var|yok",
        "rule": "asla|her zaman|sadece|yalnızca|en fazla|en az|yasak|zorunlu|gerekir|olmamalı|olmalı",
        "strong": r"asla|yasak\w*|bana sormadan|(?:iznim|onayım) olmadan|her zaman",
        "wish": "istiyorum|ihtiyacım|lütfen|yapabilir misin",
        "decision": "karar|seçtik|yerine|çünkü|onaylandı",
        "open": "henüz|sonraki adım|bekliyor|kaldı",
        "done": "tamamlandı|bitti|düzeltildi|oluşturuldu|eklendi",
        "ended": "iptal edildi|kaldırıldı|artık geçerli değil|artık gerekli değil",
        "unsure": "eğer|belki",
        "failed": "başarısız|hata",
        "duty": "yasak|zorunlu|olmamalı|olmalı|asla",
        "always": "asla|her zaman|sadece|yalnızca",
        "weak": "her zaman|sadece|yalnızca|en fazla|en az|gerekir",
        "address": "lütfen|sen|siz",
        "story": "ben|biz",
        "limit": "maksimum",
        "joint": "ve|ama",
        "worked": r"başar(?!ısız)\w*",
        "tried": r"dene(?:di|dim|mek)\w*",
        "decides": "karar",
        "agrees": r"kabul\w*|onayla\w*|razı",
        "refuses": r"redde\w*|karşı çık\w*|hayır ded\w*",
        "changed": "artık|şimdi|yeni|değişti|ertelendi",
        "moved": "ertelendi",
        "moved_to": "tarihine",
        "deadline": "teslim",
    },
    signs=None,
)
