# ruff: noqa: E501, RUF001, SIM905 - tables; the words are written in their languages' own letters
"""Action words and connecting words of several languages."""

ACTIONS = frozenset(
    "add analyze analyse announce answer archive ask attach audit back backup book build buy calculate call cancel capture chart check choose classify clean clone close collect combine "
    "commit compare compile compose compress compute configure connect convert copy correct count crawl create crop debug delete deploy describe design detect diff download draft draw edit "
    "email embed encrypt estimate evaluate execute explain export extract fetch file fill filter find fix forecast format forward generate get give go grade ground help host identify illustrate "
    "import improve index insert inspect install invite join launch list listen load locate log look mail make map measure merge message monitor move name narrate notify open optimize "
    "order organize outline overlay paint parse patch pay persist pick plan play plot post predict prepare present preview print produce promote propose publish pull push put query read recall recommend "
    "record redact refactor remember remind remove rename render repair replace reply report research reserve reset resize resolve restart restore retrieve review rewrite rotate route run save scan schedule scrape "
    "screenshot search see select send set share show sign simulate sketch solve sort split stop store stream submit subscribe suggest summarize summarise sync tag take tell test "
    "track train transcribe transfer transform translate tweet type undo update upload validate verify visualize watch write zip "
    "schreibe schreib erstelle erstell suche such finde übersetze fasse zeige sende schicke lies lösche speichere merke merk zeichne generiere prüfe plane veröffentliche berechne vergleiche lade "
    "écris écrivez rédige rédigez crée créez cherche cherchez trouve trouvez traduis traduisez résume résumez montre montrez envoie envoyez lis supprime enregistre retiens dessine génère générez vérifie publie calcule compare télécharge souviens "
    "escribe crea busca encuentra traduce resume muestra envía lee borra guarda recuerda dibuja genera verifica publica calcula compara descarga redacta haz prepara "
    "escreva escreve crie cria busque procure encontre traduza resuma mostre envie leia apague salve lembre desenhe gere verifique publique calcule compare baixe faça prepare "
    "scrivi crea cerca trova traduci riassumi mostra invia leggi cancella salva ricorda disegna genera verifica pubblica calcola confronta scarica prepara "
    "schrijf maak zoek vind vertaal toon stuur lees verwijder bewaar onthoud teken genereer controleer publiceer bereken vergelijk download "
    "napisz stwórz znajdź szukaj przetłumacz podsumuj pokaż wyślij przeczytaj usuń zapisz zapamiętaj narysuj wygeneruj sprawdź opublikuj oblicz porównaj pobierz "
    "напиши напишите создай создайте найди найдите переведи переведите покажи покажите отправь отправьте прочитай удали сохрани запомни нарисуй нарисуйте сгенерируй сгенерируйте проверь опубликуй опубликуйте посчитай сравни скачай составь подготовь "
    "اكتب أنشئ ابحث جد ترجم لخص أظهر أرسل اقرأ احذف احفظ تذكر ارسم ولد تحقق انشر احسب قارن حمل".split()
)
"""First words of a request; case-folded."""

UNSPACED_ACTIONS = (
    "写", "寫", "画", "畫", "生成", "创建", "創建", "建立", "搜索", "查找", "翻译", "翻譯", "总结", "總結", "发送", "發送", "发布", "發布", "保存", "记住", "記住", "删除", "刪除", "检查", "比较", "计算", "下载", "制作", "起草", "整理", "分析", "列出", "解释",
    "書いて", "描いて", "作って", "作成し", "探して", "検索し", "翻訳し", "要約し", "送って", "公開し", "保存し", "覚えて", "削除し", "確認し", "比較し", "計算し", "分析し", "教えて",
    "써줘", "써 줘", "작성해", "그려", "만들어", "찾아", "검색해", "번역해", "요약해", "보내", "게시해", "저장해", "기억해", "삭제해", "확인해", "비교해", "계산해", "분석해", "알려",
)  # fmt: skip
"""Action words of languages without blanks between words, or with the verb last."""

CONNECTORS = (
    r"(?:and |, )?(?:then|also|afterwards|after that|finally|next)\b|\band\b|\bplus\b|(?:und |, )?(?:dann|danach|anschließend|außerdem|zuletzt)\b|\bund\b"
    r"|(?:et |, )?(?:puis|ensuite|enfin|aussi)\b|\bet\b|(?:y |, )?(?:luego|después|también|finalmente)\b|\by\b|\be\b(?=\s)|(?:e )?(?:depois|poi|infine|inoltre|em seguida)\b"
    r"|\ben\b(?= )|\bdaarna\b|\boraz\b|\bpotem\b|\bnastępnie\b|\bи\b|\bзатем\b|\bпотом\b|\bтакже\b|ثم|(?<=\s)و(?=\w)|然后|然後|接着|接著|最后|最後に|并且|並且|再|そして|それから|次に|그리고|그다음|그런 다음"
)
"""Regular expression for connecting words between two requests."""

SOFTENERS = frozenset(
    "please kindly just can could would will you we i'd like to want need and then also now first second third finally next let's lets help me us so maybe "
    "bitte kannst du könntest ich möchte s'il te vous plaît peux tu pouvez je veux por favor puedes podrías quiero você pode quero per puoi vorrei graag kun je proszę możesz "
    "пожалуйста можешь можете мне من فضلك أريد".split()
)
"""Polite or leading words in front of an action word."""

ORDER_MARKS = (
    r"\b(?:then|after(?:wards)?|before|once|first|next|finally|dann|danach|zuerst|puis|ensuite|d'abord|luego|después|primero|depois|primeiro|poi|prima|eerst|daarna|potem|najpierw|затем|потом|сначала|после)\b"
    r"|然后|然後|接着|接著|首先|最后|まず|それから|次に|먼저|그다음|그런 다음|ثم|أولا"
)
CONDITION_MARKS = r"\b(?:if|unless|until|each|every|whenever|otherwise|wenn|falls|jede[rsn]?|sonst|si|chaque|sinon|cada|cuando|se|ogni|als|elke|jeśli|każd\w+|если|кажд\w+|иначе)\b|如果|每个|每個|每|もし|ごとに|만약|마다|إذا|كل"

CLAUSE_MARKS = r"[,;:](?=\s)|[、，；：\n]+|\s-\s"
"""Marks between clauses."""
