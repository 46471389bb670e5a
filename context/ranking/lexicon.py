"""Lexicon of related terms with weights, and translated subjects and actions of tools."""

# ruff: noqa: E501, RUF001 - a table; the words are written in their languages' own letters

from collections import defaultdict
from collections.abc import Collection, Iterator, Mapping
from dataclasses import dataclass
from functools import cache

from context.ranking.synonyms import FILE_KINDS, SYNONYMS, TOPICS
from context.text.terms import index_terms

TRANSLATIONS = """
weather forecast: 天气 天氣 气象 預報 预报 天気 予報 날씨 기상 погода погоду погоды прогноз طقس الطقس clima tiempo pronóstico previsão météo wetter vorhersage meteo hava मौसम
temperature: 气温 温度 気温 온도 기온 температура حرارة temperatura température temperatur sıcaklık तापमान
news: 新闻 新聞 资讯 ニュース 뉴스 новости новость أخبار الأخبار noticias noticia notícias actualités nouvelles nachrichten notizie haberler समाचार
search find: 搜索 搜寻 查找 查询 检索 検索 探す 검색 찾기 поиск найти найди искать ищи ابحث بحث البحث buscar busca búsqueda encontrar pesquisar chercher rechercher recherche suchen suche finden cercare ricerca ara arama bul खोज खोजें
get: 获取 取得 가져 получить получи احصل obtener obter obtenir abrufen holen ottenere getir
list: 列表 列出 一覧 リスト 목록 список قائمة lista liste
generate: 生成 產生 생성
create make: 创建 新建 生成 制作 作成 作る 만들 생성 создать создай сделать сделай أنشئ إنشاء crear crea criar créer erstellen erstelle creare oluştur बनाएं बनाओ
delete remove: 删除 移除 削除 삭제 удалить удали احذف حذف eliminar borrar excluir apagar supprimer löschen lösche eliminare cancella हटाएं
update edit: 更新 修改 编辑 編集 수정 편집 обновить изменить редактировать تحديث تعديل actualizar editar atualizar modifier aktualisieren bearbeiten ändern aggiornare modificare güncelle düzenle
send: 发送 寄送 送信 送る 보내 отправить отправь أرسل إرسال enviar envía envoyer envoie senden sende schicken inviare gönder भेजें
read open: 读取 打开 阅读 読む 開く 읽기 열기 прочитать прочитай открыть اقرأ قراءة افتح leer abrir ler lire ouvrir lesen öffnen leggere aprire oku aç पढ़ें
write: 写入 撰写 书写 写作 書く 쓰기 작성 написать напиши запиши اكتب كتابة escribir escribe escrever écrire schreiben schreibe scrivere yaz लिखें लिखो
save store: 保存 存储 存入 저장 сохранить сохрани احفظ حفظ guardar salvar enregistrer sauvegarder speichern salvare kaydet सहेजें
translate translation language: 翻译 翻譯 翻訳 번역 перевод переведи перевести ترجم ترجمة traducir traduce traducción traduzir tradução traduire traduction übersetzen übersetze übersetzung tradurre traduzione çevir çeviri अनुवाद
summarize summary: 总结 摘要 概括 要約 요약 кратко резюме суммировать لخص ملخص تلخيص resumir resumen resume resumo résumer résumé zusammenfassen zusammenfassung riassumere riassunto özetle özet सारांश
image picture photo: 图片 圖片 圖像 图像 照片 画像 写真 이미지 사진 картинка картинку изображение фото фотография صورة صور imagen foto fotografía imagem image photo bild immagine resim görüntü fotoğraf चित्र तस्वीर
draw drawing: 画画 绘画 绘制 繪圖 描く 描いて 그리기 그려 нарисуй рисунок ارسم رسم dibujar dibuja dibujo desenhar desenho dessiner dessine dessin zeichnen zeichne disegnare disegno çiz
video: 视频 影片 動画 ビデオ 동영상 비디오 видео ролик فيديو vídeo vidéo
audio voice speech sound: 音频 语音 声音 音声 음성 소리 аудио голос звук речь صوت صوتي voz sonido som voix stimme sprache voce suono आवाज़
music: 音乐 音樂 音楽 음악 музыка музыку موسيقى música musique musik musica müzik संगीत
song: 歌曲 노래 песня песню песни أغنية canción canção chanson canzone şarkı गाना
movie film: 电影 電影 映画 영화 фильм фильмы кино فيلم película filme cinéma kino spielfilm sinema फिल्म
book: 书籍 图书 小说 読書 小説 도서 книга книги книгу роман كتاب libro livro livre buch bücher kitap किताब पुस्तक
game: 游戏 遊戲 ゲーム 게임 игра игры игру لعبة juego jogo jeu spiel gioco oyun खेल
sport match score: 体育 比赛 赛事 スポーツ 試合 스포츠 경기 спорт матч رياضة مباراة deporte partido esporte partida sportif spielstand sportliche partita spor maç
football soccer: 足球 サッカー 축구 футбол القدم fútbol futebol fußball calcio futbol
travel trip: 旅行 旅游 出行 여행 путешествие поездка поездку سفر رحلة viaje viajar viagem voyage voyager reise reisen viaggio seyahat gezi यात्रा
flight: 航班 飞机 机票 飛行 航空 항공 비행기 рейс самолет авиабилет طيران vuelo avión voo avião avion flug flugzeug volo aereo uçuş uçak उड़ान
train: 火车 列车 高铁 车票 電車 列車 기차 열차 поезд قطار tren trem zug bahn treno
hotel accommodation: 酒店 宾馆 住宿 ホテル 宿泊 호텔 숙소 отель гостиница гостиницу فندق hospedaje alojamiento hospedagem hébergement unterkunft albergo alloggio otel होटल
restaurant: 餐厅 餐馆 饭店 レストラン 식당 레스토랑 ресторан مطعم restaurante ristorante lokanta restoran
food meal dish: 食物 美食 食品 菜品 料理 食事 음식 요리 еда блюдо طعام وجبة comida plato refeição nourriture repas plat essen gericht cibo piatto pasto yemek भोजन खाना
recipe cook: 食谱 菜谱 做菜 烹饪 レシピ 레시피 рецепт приготовить готовить وصفة طبخ receta cocinar receita cozinhar recette cuisiner rezept kochen ricetta cucinare
map location place: 地图 位置 地点 地図 場所 지도 위치 장소 карта место местоположение خريطة موقع مكان mapa ubicación lugar localização lieu emplacement karte ort standort mappa luogo harita konum मानचित्र
address: 地址 住所 주소 адрес عنوان dirección endereço adresse indirizzo adres पता
route direction: 路线 路線 导航 経路 경로 길찾기 маршрут طريق اتجاهات ruta rota itinéraire trajet strecke weg percorso yol
nearby: 附近 周边 近く 근처 рядом поблизости قريب cerca cercano perto proximité près nähe vicino yakın
traffic: 交通 路况 교통 трафик пробки مرور tráfico trânsito trafic verkehr traffico trafik
car: 汽车 车辆 自動車 자동차 машина автомобиль سيارة coche carro voiture fahrzeug macchina araba
price cost: 价格 费用 報價 報价 値段 価格 가격 цена цены стоимость سعر السعر precio costo preço custo prix coût preis kosten prezzo fiyat कीमत
buy purchase: 购买 购物 買う 購入 구매 쇼핑 купить покупка شراء comprar compra acheter achat kaufen kauf comprare acquisto satın मोल
product: 商品 产品 製品 상품 제품 товар продукт товары منتج producto produto produit produkt artikel prodotto ürün उत्पाद
order: 订单 下单 注文 주문 заказ заказать طلب pedido commande bestellung bestellen ordine sipariş
shop store: 商店 店铺 お店 매장 магазин متجر tienda loja magasin boutique geschäft laden negozio mağaza दुकान
stock: 股票 股价 股市 株価 株式 주식 акции акция биржа أسهم سهم acciones bolsa ações bourse aktie aktien börse azioni borsa hisse शेयर
finance market money: 金融 财经 财务 市场 経済 금융 시장 финансы рынок деньги مال مالية سوق finanzas mercado dinero finanças dinheiro argent marché finanzen markt geld finanza mercato soldi piyasa
currency exchange rate: 汇率 货币 为替 通貨 환율 통화 курс валюта валют عملة صرف divisa moneda cambio câmbio moeda devise taux währung wechselkurs valuta kur döviz
crypto bitcoin: 加密货币 加密 比特 币圈 仮想通貨 暗号 암호 비트 криптовалюта биткоин биткойн بيتكوين criptomoneda criptomoedas cryptomonnaie kryptowährung criptovaluta kripto
bank: 银行 銀行 은행 банк بنك مصرف banco banque banca banka बैंक
payment pay invoice: 支付 付款 发票 請求 支払 결제 송장 оплата платеж счет دفع فاتورة pago pagar factura pagamento fatura paiement payer facture zahlung zahlen bezahlen rechnung fattura ödeme
tax: 税收 税务 税金 세금 налог ضريبة impuesto imposto impôt steuer tassa vergi
company business: 公司 企业 会社 企業 회사 기업 компания компании бизнес фирма شركة empresa negocio entreprise société firma unternehmen azienda impresa şirket कंपनी
email mail: 邮件 邮箱 电邮 メール 이메일 메일 почта письмо электронное بريد إيميل correo courriel e-mail posta
message chat: 消息 短信 聊天 メッセージ 메시지 채팅 сообщение чат رسالة دردشة mensaje mensagem message nachricht messaggio mesaj संदेश
phone call: 电话 電話 전화 телефон звонок позвонить هاتف اتصال teléfono llamar llamada telefone ligar téléphone appeler telefon anrufen telefono chiamare फोन
contact: 联系 連絡 연락 контакт contacto contato kontakt contatto iletişim
calendar schedule event: 日历 日程 活动 予定 カレンダー 일정 행사 календарь расписание событие мероприятие تقويم جدول حدث calendario agenda evento horario calendário calendrier événement kalender termin veranstaltung takvim etkinlik
meeting appointment: 会议 预约 会議 회의 약속 встреча совещание اجتماع موعد reunión cita reunião réunion rendez-vous besprechung treffen riunione appuntamento toplantı randevu बैठक
reminder alarm: 提醒 闹钟 リマインダー アラーム 알림 알람 напоминание напомни будильник تذكير منبه recordatorio alarma lembrete alarme rappel réveil erinnerung erinnere wecker promemoria sveglia hatırlat
task todo: 任务 待办 タスク 할일 작업 задача задачи مهمة tarea tarefa tâche aufgabe compito görev
note memo: 笔记 备忘 ノート メモ 메모 노트 заметка заметки ملاحظة nota anotação note notiz appunto
ticket booking: 订票 门票 预订 チケット 予約 티켓 예약 예매 билет билеты забронировать бронь تذكرة حجز entrada boleto reserva reservar ingresso billet réserver ticket buchen reservierung biglietto prenotare bilet rezervasyon
file: 文件 檔案 ファイル 파일 файл файлы ملف archivo fichero arquivo ficheiro fichier datei file dosya फ़ाइल
folder directory: 目录 文件夹 フォルダ 폴더 папка каталог مجلد carpeta directorio dossier répertoire ordner verzeichnis cartella klasör
document: 文档 文書 書類 문서 документ وثيقة مستند documento document dokument belge दस्तावेज़
table spreadsheet: 表格 电子表格 表計算 스프레드 таблица جدول tabla hoja tabela planilha tableau feuille tabelle tabella tablo
presentation slide: 幻灯 演示 スライド 発表 발표 презентация слайд عرض تقديمي presentación diapositiva apresentação présentation diapositive präsentation folie presentazione sunum
chart graph: 图表 グラフ 図表 차트 그래프 график диаграмма диаграмму مخطط رسم بياني gráfico gráfica graphique diagramme diagramm grafico grafik
convert: 转换 变换 変換 변환 конвертировать преобразовать تحويل حول convertir converter umwandeln konvertieren convertire dönüştür
calculate: 计算 計算 계산 посчитать вычислить рассчитать احسب حساب calcular calculer berechnen berechne rechnen calcolare hesapla गणना
compare: 比较 对比 比較 비교 сравнить сравни قارن مقارنة comparar comparer vergleichen vergleiche confrontare karşılaştır तुलना
analyze analysis: 分析 解析 분석 анализ проанализировать تحليل حلل analizar análisis analisar análise analyser analyse analysieren analizzare analisi analiz
download: 下载 下載 ダウンロード 다운로드 скачать загрузить تحميل تنزيل descargar baixar télécharger herunterladen scaricare indir डाउनलोड
upload: 上传 上傳 アップロード 업로드 загрузка رفع subir carregar téléverser hochladen caricare yükle
web website page: 网页 网站 網頁 ページ サイト 웹사이트 웹페이지 сайт страница веб موقع صفحة página sitio site page webseite seite sito pagina sayfa
browser: 浏览 瀏覽 ブラ 브라우저 браузер متصفح navegador navigateur
screenshot: 截图 截圖 截屏 屏幕快照 スクリーンショット スクショ 스크린샷 스샷 скриншот لقطة captura capture bildschirmfoto schermata
code program: 代码 编程 程序 コード プログラム 코드 프로그램 код программа программу كود برنامج código programa code programme quellcode programm codice kod
database: 数据库 資料庫 データベース 데이터베이스 база قاعدة base banco datenbank veritabanı
data: 数据 資料 データ 데이터 данные بيانات datos dados données daten dati veri डेटा
server: 服务器 サーバー 서버 сервер خادم servidor serveur sunucu
security: 安全 セキュリティ 보안 безопасность уязвимость أمن ثغرة seguridad segurança sécurité sicherheit sicurezza güvenlik
password: 密码 パスワード 비밀번호 пароль مرور contraseña senha passwort şifre parola
user account: 用户 账号 账户 ユーザー アカウント 사용자 계정 пользователь аккаунт учетная مستخدم حساب usuario cuenta usuário conta utilisateur compte benutzer konto utente kullanıcı hesap
time date: 时间 日期 時間 時刻 日付 시간 날짜 время дата сколько وقت تاريخ الساعة hora fecha heure date uhrzeit datum zeit ora saat tarih समय
history: 历史 歴史 역사 기록 история تاريخ historia história histoire geschichte storia tarih
trend popular hot: 热门 热榜 热搜 热点 趋势 排行 人気 急上昇 ランキング 인기 트렌드 популярный тренд тренды شائع رائج tendencia popular tendência tendance populaire beliebt trend tendenza popüler
technology: 科技 技术 技術 기술 технологии техника تقنية تكنولوجيا tecnología tecnologia technologie technik teknoloji
blog: 博客 部落格 網誌 ブログ 블로그 блог مدونة ब्लॉग
article post: 文章 帖子 記事 기사 게시글 статья пост مقال منشور artículo artigo article artikel beitrag articolo makale
social media: 微博 社交 ソーシャル 소셜 соцсети социальные تواصل اجتماعي redes sociales sociais réseaux sociaux soziale sociali sosyal
education course learn: 教育 课程 学习 授業 学ぶ 교육 강의 학습 образование курс курсы учить обучение تعليم دورة تعلم educación curso aprender educação apprendre cours bildung kurs lernen corso imparare eğitim öğren शिक्षा
school university: 学校 大学 學校 학교 대학 школа университет مدرسة جامعة escuela universidad escola école université schule universität scuola okul üniversite
job career: 工作 招聘 职位 仕事 求人 직업 채용 работа вакансия وظيفة عمل trabajo empleo emprego vaga emploi arbeit stelle stellenangebot lavoro iş नौकरी
health medical: 健康 医疗 医院 病院 건강 의료 здоровье врач медицина صحة طبيب salud médico saúde santé médecin gesundheit arzt salute medico sağlık doktor स्वास्थ्य
law legal: 法律 律师 弁護 法令 법률 변호사 закон юрист адвокат قانون محامي ley abogado lei advogado loi avocat gesetz anwalt recht legge avvocato hukuk avukat कानून
house property: 房屋 租房 房产 不動産 부동산 주택 квартира недвижимость дом عقار شقة casa piso alquiler imóvel apartamento maison appartement logement haus wohnung immobilie appartamento daire घर
paper research: 论文 研究 論文 논문 연구 исследование научная بحث علمي investigación pesquisa recherche forschung studie ricerca araştırma अनुसंधान
character: 角色 人物 キャラクター 캐릭터 персонаж شخصية personaje personagem personnage figur personaggio
package parcel delivery: 包裹 快递 物流 荷物 配送 택배 배송 посылка доставка طرد شحن توصيل paquete envío encomenda entrega colis livraison suivi paket lieferung sendung pacco consegna kargo
gift: 礼物 禮物 贈り 선물 подарок هدية regalo presente cadeau geschenk hediye
air quality: 空气 空氣 大気 공기 воздух هواء aire ar luft aria hava
earthquake: 地震 지진 землетрясение زلزال terremoto sismo séisme erdbeben deprem भूकंप
science space: 科学 航天 宇宙 과학 우주 наука космос علوم فضاء ciencia espacio ciência espaço espace wissenschaft weltraum scienza spazio bilim uzay
"""
"""Translations, a group a line: English words, then foreign words for the first or for all together."""


SYNONYM_WEIGHT = 0.45
TOPIC_WEIGHT = 0.5
TRANSLATION_WEIGHT = 0.8
FILE_WEIGHT = 0.5


@dataclass(frozen=True, slots=True)
class Expansion:
    """Expansion of a term of an intent.

    Attributes:
        needs: Terms required in the intent, all together.
        terms: Weight of each further term, in (0, 1].
    """

    needs: frozenset[str]
    terms: tuple[tuple[str, float], ...]


@cache
def load_lexicon() -> Mapping[str, tuple[Expansion, ...]]:
    """Read the tables once: every expansion by its first needed term."""
    found: dict[tuple[str, ...], dict[str, float]] = defaultdict(dict)
    for source, target, weight in _all_pairs():
        needs = tuple(index_terms(source))
        terms = index_terms(target)
        for term in terms:
            if term not in needs:
                share = weight / len(terms)
                found[needs][term] = max(share, found[needs].get(term, 0.0))
    lexicon: dict[str, list[Expansion]] = defaultdict(list)
    for needs, shares in found.items():
        lexicon[needs[0]].append(Expansion(frozenset(needs), tuple(shares.items())))
    return {term: tuple(expansions) for term, expansions in lexicon.items()}


class FittedLexicon(Mapping[str, tuple[Expansion, ...]]):
    """The lexicon limited to the terms of a catalog: expansions by their first needed term.

    A term is fitted at its first use, since an intent needs few of them.
    """

    def __init__(self, vocabulary: Collection[str]) -> None:
        """Take the catalog's terms, in a collection with a quick look-up."""
        self._vocabulary = vocabulary
        self._fitted: dict[str, tuple[Expansion, ...]] = {}

    def __getitem__(self, term: str) -> tuple[Expansion, ...]:
        """Return the expansions of a term, at least one."""
        found = self._fitted.get(term)
        if found is None:
            found = self._fitted[term] = tuple(self._fit(term))
        if not found:
            raise KeyError(term)
        return found

    def __iter__(self) -> Iterator[str]:
        """List the terms with expansions."""
        return (term for term in load_lexicon() if term in self)

    def __len__(self) -> int:
        """Count the terms with expansions."""
        return sum(1 for _ in self)

    def _fit(self, term: str) -> Iterator[Expansion]:
        for expansion in load_lexicon().get(term, ()):
            terms = tuple(each for each in expansion.terms if each[0] in self._vocabulary)
            if terms:
                yield Expansion(expansion.needs, terms)


def written_word(term: str) -> str:
    """Return the first word of the lexicon for a term; the term itself without such a word."""
    return _written_words().get(term, term)


@cache
def _written_words() -> Mapping[str, str]:
    words: dict[str, str] = {}
    for _, word, _ in _all_pairs():
        for term in index_terms(word):
            words.setdefault(term, word)
    return words


def _all_pairs() -> Iterator[tuple[str, str, float]]:
    for line in SYNONYMS.strip().splitlines():
        first, *others = line.split()
        for other in others:
            yield first, other, SYNONYM_WEIGHT
            yield other, first, SYNONYM_WEIGHT
    for wider, narrower in _halves(TOPICS):
        yield from ((word, target, TOPIC_WEIGHT) for word in narrower for target in wider)
    for endings, kinds in _halves(FILE_KINDS):
        yield from ((ending, kind, FILE_WEIGHT) for ending in endings for kind in kinds)
    for english, foreign in _halves(TRANSLATIONS):
        for word in foreign:
            yield from ((word, target, TRANSLATION_WEIGHT) for target in english)
            yield english[0], word, TRANSLATION_WEIGHT


def _halves(table: str) -> Iterator[tuple[list[str], list[str]]]:
    for line in table.strip().splitlines():
        left, _, right = line.partition(":")
        yield left.split(), right.split()
