# ruff: noqa: E501, RUF001 - tables; the words are written in their languages' own letters
"""Most common little words of languages with a shared script, to tell the languages apart."""

STOP_WORDS: dict[str, frozenset[str]] = {
    code: frozenset(words.split())
    for code, words in {
        "en": "am i he she his her him were those them yes well very good one said the and of to in is that it was for on are with as at be this have from not but had by they you we can will would "
        "there been if when who which what your has do does how should could about into their then than please i'm don't it's an "
        "or my me our all also just now let's let need want make sure here these some any no so up out",
        "de": "der die das und ist nicht ein eine einen einem einer den dem des zu mit von für auf im sich auch es ich wir sie er "
        "wird werden wurde hat haben sind war kann bei nach aus wie was noch oder aber wenn dass nur so um über bitte mir mich "
        "soll muss kein keine mehr schon dann zum zur bis vom hier jetzt alle doch diese dieser dieses",
        "fr": "le la les de des du un une et est à dans que qui pour pas sur au aux avec ne se ce il elle nous vous je sont par plus "
        "jamais toujours vers faut plaît te s'il chaque après avant déjà rien peux encore sous entre lui moi toi deux mais ou où être cette ces son sa ses leur leurs été fait faire tout comme aussi donc si peut doit sans c'est j'ai "
        "n'est d'un d'une qu'il l'on mon notre votre très bien merci",
        "es": "el la los las de del que y en un una es por con para no se lo como más pero sus su le ya este esta estos esto sí "
        "porque cuando muy sin sobre también me hasta hay donde quien desde todo nos ser son fue ha han puede debe al está "
        "están qué cómo yo tu mi hacer favor gracias aquí ahora",
        "pt": "o a os as de do da dos das que e em um uma é por com para não se mais mas como foi ao à ele ela eu você nós seu sua "
        "ou quando muito já também só pelo pela até isso isto esta este está são tem ser ter pode deve no na nos nas meu "
        "minha fazer obrigado aqui agora sem sobre ainda",
        "it": "il lo la i gli le di del della dei delle e è che in un una per con non si da al alla sono come più ma anche se ha "
        "hanno questo questa questi nel nella dal dalla mi ti ci vi lui lei io noi essere stato fare può deve cosa quando dove "
        "perché già solo tutto tutti ancora grazie c'è l'ho",
        "nl": "de het een en van is dat in op te zijn met voor niet aan er om ook als maar door naar bij uit dan nog wel geen ik je "
        "jij hij wij we zij ze u heeft hebben had wordt worden werd kan kunnen moet moeten zal deze dit die wat hoe waar mijn "
        "jouw ons onze meer over tot graag alle",
        "pl": "i w nie się na z że do to jest o jak ale po co tak za od dla przez był była było są być może tylko już jego jej ich "
        "który która które tym tego tej ten ta te czy przy bez oraz ma mam mamy proszę jeśli gdy bardzo można trzeba musi "
        "lub więc też jeszcze teraz",
        "tr": "ve bir bu da de için ile çok ne ama o daha gibi var yok mi mı mu mü değil olarak olan kadar sonra ben sen biz siz "
        "onlar ki ya en her şey şu olur oldu olduğu olması lütfen nasıl neden hangi gerek gerekiyor veya ancak hem içinde "
        "üzerinde göre tüm artık şimdi",
        "sv": "och att det i en är som på för med den till av inte jag har de ett om men var sig från vi så kan när han hon eller "
        "ska skulle också mycket alla efter utan bara nu här finns blir hur vad detta denna dessa du ni min din",
        "da": "og at det i en er som på for med den til af ikke jeg har de et om men var sig fra vi så kan når han hun eller skal "
        "skulle også meget alle efter uden bare nu her findes bliver hvordan hvad dette denne disse du min din ud",
        "cs": "a se v na je že to s z do o jako ale by jsem jsou bylo byl byla být pro po za od už jen také tak který která které "
        "když nebo ještě však podle při není jeho jejich tento tato toto prosím může musí",
        "ro": "și în de la un o nu este că cu pe din pentru care mai ca sau dar sunt fi fost a au prin această acest aceste după "
        "când foarte dacă fără trebuie poate am ai avem vă rog cum unde",
        "id": "yang dan di ke dari untuk dengan ini itu tidak adalah pada akan dalam juga saya kami kita anda bisa sudah atau oleh "
        "karena seperti telah harus ada lebih sebagai tolong apa bagaimana jika belum",
        "vi": "là và của có không được các một cho trong với này đã người những để khi từ đến tôi bạn cũng như vào ra nhưng thì "
        "sẽ phải rất hay hoặc nếu hãy đó nào",
        "fi": "ja ei että hän ovat oli olla mutta kun niin kuin myös mitä tämä nämä joka jotka voi ole minä sinä minun "
        "mikä miten missä vain nyt sitten jos tai vielä kanssa jo pitää pitäisi onko tässä sitä meidän olen "
        "olemme ennen jälkeen",
        "hu": "az és hogy nem egy ez volt meg már csak mint vagy azt ezt kell lehet még majd nincs minden után előtt "
        "hogyan miért hol itt ott vagyok vannak lesz legyen kérem szerint alatt között nekem nekünk kellene azért",
        "hr": "što kao ili ali iz ako bi sam smo ste nije biti bio bila bilo već samo kako kada gdje zašto ovo taj ova "
        "ovaj može možemo treba moram imamo nema još prije nakon molim vas njih joj nam",
        "et": "ja ei see oli ka kui mis oma või aga siis nii ning selle seda mida kes kus kuidas miks ole olen oleme "
        "nad meie teie mina sina juba veel ainult enne pärast palun peab saab võib kas siin seal minu",
        "lt": "ir yra kad į iš tai kaip bet ar jis ji jie mes jūs aš buvo būti nuo prie dėl jei tik jau kas kur kada "
        "kodėl reikia gali prašau mūsų jų šis ši tas taip apie iki",
        "lv": "ir ka nav ar uz kā bet vai tas tā ko pie pēc lai jau vēl tikai ja kad kur kāpēc viņš viņa mēs jūs viņi "
        "bija būt vajag lūdzu mūsu šis šī tiek līdz pirms",
        "sq": "dhe të në një për që nuk është më nga ka kjo ky ose kur ku pse jam janë ishte duhet mund ju unë ajo ata "
        "vetëm tani lutem tonë ime",
        "sw": "wa kwa katika cha kuwa hii huo hiyo kama lakini hapana ndiyo yake wake yetu wetu yangu wangu tunaweza "
        "tafadhali baada kabla sana pia bado ambayo ambao kila nini wapi kwamba hakuna kuna sisi mimi wewe yeye "
        "vya",
        "tl": "ang ng mga ay ko mo niya namin natin ito iyon hindi may mayroon kung kasi ba nang lang rin ako ikaw siya "
        "tayo sila ano saan kailan bakit paano dapat pwede wala na't",
        "ru": "и в не на что с по как это но к из у за от так для же то его все она он мы вы бы если уже или ни да нет ещё еще "
        "был была было были быть есть только при до о об чтобы где когда мне меня нам нас вас их этот эта эти того нужно надо "
        "можно пожалуйста может должен также очень без после",
        "uk": "і в у не на що з по як це але до із за від так для ж то його всі вона він ми ви б якщо вже або ні та ще був була "
        "було були бути є тільки при о про щоб де коли мені мене нам нас вас їх цей ця ці того потрібно треба можна будь "
        "ласка може повинен також дуже без після й",
        "bg": "и в не на че с по как това но към от за се да е са съм беше ще ако или още вече този тази тези който която които "
        "може трябва също много без след моля мен ни ви те тя той ние",
        "sr": "и у не на да је се са за што као али од до то су био била било ће ако или још већ овај ова ово који која које може "
        "треба такође веома без после нам вас ми ви они",
        "ar": "في من على إلى أن هذا هذه التي الذي لا ما هو هي كان كانت عن مع أو ثم قد كل بعد قبل لم لن إذا نحن أنا أنت يجب يمكن",
        "fa": "در و به از که این را با است برای آن یک تا بر می شود شده هم کرد باید یا اما اگر های ها نیست بود من ما شما",
        "hi": "के का की में है और से को पर यह नहीं हैं कि एक ने कर लिए भी हो था थे या तो जो इस उस वह कृपया",
        "mr": "आहे आणि या हे तो ती ते मध्ये नाही साठी आहेत होते केले एक पण किंवा मी तुम्ही आम्ही",
    }.items()
}
"""ISO 639-1 code to words, case-folded. Languages from Finnish to Tagalog share no word with others, so no word loses weight."""

TELLING_LETTERS: dict[str, str] = {
    "de": "ß",
    "es": "ñ¿¡",
    "pt": "ãõ",
    "pl": "łąęśźżń",
    "tr": "ğış",
    "fr": "œçêèù",
    "cs": "řůěť",
    "ro": "țș",
    "hu": "őű",
    "lt": "ėįų",
    "lv": "ļņģķ",
    "vi": "ạảấầẩậắằặẹẻẽếềểễệịọỏốồổỗộớờởợụủứừửữựỳỷỹđ",
    "da": "ø",
    "ru": "ыэё",
    "uk": "іїєґ",
    "sr": "ђћџјљњ",
    "fa": "پچژگ",
}
"""Letters hardly used by other languages of the script."""
