# ruff: noqa: E501 - tables in the letters of the language
"""Words of German."""

from context.languages import Language

LANGUAGE = Language(
    code="de",
    name="German",
    script="latin",
    stop_words=(
        "der die das und ist nicht ein eine einen einem einer den dem des zu mit von für auf im sich auch es ich wir sie er wird werden wurde "
        "hat haben sind war kann bei nach aus wie was noch oder aber wenn dass nur so um über bitte mir mich soll muss kein keine mehr schon "
        "dann zum zur bis vom hier jetzt alle doch diese dieser dieses"
    ),
    telling_letters="ß",
    section_titles=(
        "Ziel|Geltende Vorgaben|Entscheidungen und Gründe|Erledigte Arbeit|Offene Arbeit|Artefakte und genaue Bezeichner|"
        "Personen und wer was gesagt hat"
    ),
    unproven="nicht belegt",
    refusals="es tut mir leid|tut mir leid|leider kann ich|ich kann |ich bin nicht in der lage|entschuldigung, aber ich",
    input_requests="bitte geben sie mir|bitte stellen sie|bitte teile mir|bitte teilen sie|wie kann ich ihnen helfen|wie kann ich dir helfen",
    negations="nicht kein keine keinen keinem keiner nie niemals ohne",
    which_words="welche welcher welches welchen gibt gab",
    every_words="alle alles jeder jede jedes",
    some_words="einige manche",
    actions=(
        "schreibe|schreib|erstelle|erstell|suche|such|finde|übersetze|fasse|zeige|sende|schicke|lies|lösche|speichere|merke|merk|zeichne|"
        "generiere|prüfe|plane|veröffentliche|berechne|vergleiche|lade"
    ),
    endings="en es em n e s",
    mail={
        "from": "von",
        "sent": "gesendet",
        "subject": "betreff",
        "wrote": "schrieb|schreibt|hat geschrieben",
        "forwarded": "weitergeleitete nachricht|ursprüngliche nachricht|originalnachricht",
    },
    markers={
        "smalltalk": r"wie (?:war|ist|läuft|geht) (?:(?:denn|so) )?(?:dein\w*|euer|eure|ihr\w*|der rest|es|dir|euch)|wie geht's|was machst du (?:heute|morgen|so|am)|gut geschlafen|was gibt's neues",
        "anew": r"ab jetzt|ab sofort|ab heute|von nun an|von jetzt an|künftig|in zukunft|fortan",
        "order": r"schick\w*|send\w*|schreib\w*|antwort\w*|mach\w*|gib|leg\w*|speicher\w*|nutz\w*|verwend\w*|bitte|mir|nur",
        "frame": r"verlangt|kostet|kosten|preis\w*|beträgt|liegt|macht|will|bietet|sagt|findet|statt|geplant|uhr|insgesamt|pro|wurden?|worden",
        "filler": "brauche|brauchst|brauchen|braucht|will|willst|wollen|möchte|möchtest|geben|gib|gibt|gehen|geht|kommen|kommt|machen|macht|mache|sagen|sag|wissen|weiß|denken|viel|viele|ding|dinge|sache|ende|eigentlich|wirklich|gerade|eben|beim|mal|etwas|irgendwas|endlich|überhaupt|sollen|werden|wird|musst|darf|darfst|dürfen|kostet|kosten",
        "rule": (
            "muss|musst|müsst|müssen|darf|darfst|dürft|dürfen|nie|niemals|immer|nur|auf keinen fall|höchstens|mindestens|unbedingt|keinesfalls|verboten|"
            "bitte nicht|frist"
        ),
        "strong": (
            "muss|musst|darf|darfst|nie|niemals|auf keinen fall|keinesfalls|verboten|niemand darf|"
            r"ohne (?:meine|unsere) (?:\w+ )?(?:freigabe|zustimmung|erlaubnis|genehmigung)|immer"
        ),
        "wish": "ich will|ich möchte|ich brauche|wir brauchen|wir wollen|bitte|kannst du|können sie|ziel ist",
        "decision": "entschieden|wir nehmen|beschlossen|einigen|vereinbart|stattdessen|weil|deshalb|bestätigt",
        "open": "offen|noch nicht|nächster schritt|später|ausstehend|warten auf",
        "done": "erledigt|fertig|behoben|erstellt|hinzugefügt|entfernt|gebucht",
        "ended": (
            "aufgehoben|gilt nicht mehr|gelten nicht mehr|hinfällig|zurückgenommen|zurückgezogen|nicht mehr (?:nötig|gültig|erforderlich|gewünscht)|"
            "abgesagt|storniert"
        ),
        "unsure": "wenn|falls|sobald|bis|würde|wird|werden|soll|vielleicht|weiterhin|noch",
        "failed": "fehlgeschlagen|fehler|gescheitert|versucht|nicht|teilweise",
        "duty": "muss|musst|müsst|müssen|darf|darfst|dürft|dürfen|auf keinen fall|keinesfalls|verboten|bitte nicht|unbedingt",
        "always": "nie|niemals|immer|nur",
        "weak": "nie|niemals|immer|nur|höchstens|mindestens|frist",
        "address": "bitte|du|dir|dich|sie|ihr",
        "story": r"ich|wir|habe|haben(?!\W*\Z)|hatte|hatten|war|waren|wurde|er",
        "limit": "nicht mehr als",
        "joint": "und|aber|während",
        "worked": r"\w*klappt\w*|funktionier\w*|erfolgreich\w*|gelungen|gelang",
        "tried": r"versuch\w*|probier\w*",
        "decides": r"entscheid\w*|beschließ\w*",
        "agrees": r"zugestimm\w*|zustimm\w*|stimmt\w* zu|angenommen|genehmig\w*|akzeptier\w*|einverstanden|bewillig\w*",
        "refuses": r"abgelehn\w*|ablehn\w*|lehnt\w*|verweiger\w*|zurückgewiesen|dagegen|gegen (?:den|die|das|eine?n?)",
        "changed": r"jetzt|nun|neu\w{0,2}|geändert|verschoben|korrektur|stattdessen|erhöht|gesenkt|gestiegen|doch|runter|herunter|rauf|hinauf",
        "moved": "verschoben|verlegt|vorgezogen",
        "moved_to": "auf(?: den)?",
        "deadline": r"frist|abgabe\w*|stichtag",
        "announced": r"\w*regel",
        "called_rule": r"das ist (?:eine|die) regel",
        "instead": "stattdessen",
        "urgent": "wichtig|achtung|merke",
        "ban": r"kein\w{0,2} \w+(?: \w+)?(?= (?:nach|vor|zwischen|bis|ab|über) \d)",
    },
    signs={
        "casual.greeting": "hallo moin servus guten_morgen guten_tag guten_abend wie_geht's wie_gehts wie_geht_es gruss_dich grüezi na",
        "casual.thanks": "danke dankeschön vielen_dank besten_dank dankbar",
        "casual.bye": "tschüss ciao auf_wiedersehen bis_bald bis_später bis_morgen gute_nacht mach's_gut schönen_abend schönes_wochenende",
        "casual.yes": "ja jawohl klar genau stimmt richtig natürlich gerne einverstanden selbstverständlich passt",
        "casual.no": "nein nö nee lieber_nicht falsch",
        "casual.maybe": "vielleicht eventuell möglicherweise weiss_nicht weiß_nicht keine_ahnung",
        "casual.indifferent": "egal ist_mir_egal macht_nichts wie_du_willst wie_du_möchtest",
        "casual.praise": "super klasse prima großartig perfekt wunderbar gut_gemacht sehr_gut spitze",
        "casual.joke": "witz witze lustig* zum_lachen aufmuntern",
        "casual.persona": "wer_bist_du wie_heißt_du wie_alt_bist_du dein_name bist_du_ein dein_hobby deine_hobbys woher_kommst_du wer_hat_dich",
        "you.word": "du dich dir dein deine deinen sie ihre",
        "you.asked": "bist_du hast_du warst_du magst_du sind_sie haben_sie",
        "ask.what": (
            "was wer wen wem wessen wann wo woher wohin warum wieso weshalb wie welche welcher welches welchen wieviel wie_viel gibt_es ist_das "
            "stimmt_es"
        ),
        "ask.generic": "wie_kann_ich kann_ich soll_ich muss_ich darf_ich brauche_ich wie_komme_ich",
        "ask.search": "suche suchen finde finden nachschlagen schau_nach recherchier* googl* ermittle herausfinden",
        "ask.explain": (
            "erklär* vergleich* bedeut* definier* definition unterschied* beschreib* empfehl* empfiehl übersetz* vorschlag* buchstabier* "
            "informationen vor-_und_nachteile"
        ),
        "ask.tell": "sag_mir zeig* nenn* gib_mir liste aktuell* neueste* beste* heute",
        "ask.topic": (
            "wetter* nachrichten schlagzeilen rezept* restaurant* hotel* reise* visum impfung* einwohner hauptstadt wechselkurs aktienkurs* "
            "sehenswürdigkeit* in_der_nähe"
        ),
        "code.strong": "verzeichnis* ordner* quellcode debug* kompilier* unittest* repository skript*",
        "ask.world": (
            "vorhersage regen schnee präsident regierung wahl* geschichte einwohner hauptstadt land länder welt schauspieler film* konzert* "
            "veranstaltung* spiel liga aktie* kurs* börse preis* kosten kostet wechselkurs währung* umrechn*"
        ),
        "ask.place": (
            "in_der_nähe nächste* entfernung weg_nach route fahrplan bus zug züge bahn* u-bahn taxi flug flüge flughafen hotel* restaurant* café "
            "laden geschäft* museum strand apotheke reise* urlaub sehenswürdigkeit* visum reisepass impfung* zeitzone steckdose*"
        ),
        "ask.food": "rezept* koch* backe backen zutat* kalorien nährwert* essen mittagessen abendessen frühstück gericht*",
        "code.craft": (
            "code quellcode funktion* methode* klasse* variable* debug* refaktor* kompilier* syntax ausnahme* fehlermeldung* stacktrace bug* "
            "programm* programmier* skript* algorithm* datenbank* schnittstelle* bibliothek* paket* modul* implementier* schleife* rekursi* "
            "array* repository commit* branch merge unittest*"
        ),
        "code.file": "datei* verzeichnis* ordner* pfad* zeilen spalte* dateiname* berechtigung* archiv*",
        "code.shell": "befehl* kommandozeile terminal konsole zeichenkette* rekursiv muster umbenenn*",
        "code.act": (
            "behebe reparier* baue bauen test* install* ausführ* führe schreib* optimier* fehler lösch* entfern* kopier* verschieb* ersetz* "
            "ändere ändern hinzufügen füge zähl* sortier* speicher* aktualisier*"
        ),
        "ops.metric": "auslastung speicherverbrauch festplatte* speicherplatz prozessor* cpu gpu betriebszeit laufzeit dateisystem* bandbreite latenz",
        "ops.strong": "prozesse netzwerkschnittstelle* ip-adresse* angemeldet* laufende_dienste dienste",
        "ops.thing": "prozess server dienst temperatur netzwerk port ports benutzer rechner",
        "ops.check": "status zustand gesundheit überwach* läuft erreichbar ausfall störung*",
        "coin.word": "krypto* kryptowährung* blockchain wallet* geldbörse",
        "coin.weak": "kontostand guthaben token tauschen überweis* handel*",
        "media.thing": (
            "bild* foto* zeichnung* grafik* logo video* audio* stimme* sprachnachricht* untertitel diagramm* balkendiagramm tonaufnahme* "
            "illustration*"
        ),
        "media.verb": "zeichne zeichnen malen mal_mir skizzier* transkribier* vorlesen lies_vor vertone",
        "media.act": "erstell* generier* erzeug* mache machen machst entwirf gestalte sprich schneide bearbeite konvertier* visualisier*",
        "media.play": "spiel spiele abspielen lieder musik playlist radio podcast* hörbuch lautstärke lauter leiser",
        "mem.recall": (
            "erinner* weißt_du_noch du_hast_gesagt du_sagtest ich_habe_dir ich_hatte_dir wir_haben_besprochen wir_hatten letztes_mal "
            "beim_letzten_mal vergessen mein_name wie_heiße_ich merk_dir"
        ),
        "mem.when": "gestern früher vorhin",
        "mem.past": "neulich letzte_woche letzten_monat war hatte",
        "mem.mine": "mein meine meinen meinem meiner unser unsere",
        "mem.i": "ich mich mir wir uns",
        "mem.affairs": "termin termine besprechung* frist* kunde* kollege* chef rechnung* vertrag geburtstag lieferung* bestellung* kinder frau mann budget",
        "plan.steps": "schritt_für_schritt und_dann zuerst anschließend danach schließlich ausführlich* umfassend* detaillier* strategie* fahrplan",
        "plan.analyze": "plan planen planung analys* auswert* bewert* reiseplan zusammenfass* fasse entwurf architektur beweis*",
        "plan.deliver": "bericht* präsentation* folien dokument* tabelle anleitung* aufsatz artikel speichere_es als_pdf",
        "plan.also": "außerdem zusätzlich ebenfalls ferner sowie darüber_hinaus",
        "plan.want": "ich_brauche ich_möchte ich_will kannst_du könntest_du bitte hilf_mir",
        "follow.go": (
            "mach_weiter weiter weitermachen leg_los mach_das mach_es tu_es ausführen nochmal noch_einmal starte beginne bitte fang_an gerne "
            "in_ordnung"
        ),
        "follow.and": "und was_ist_mit wie_sieht_es_mit jetzt dann auch aber oder nur doch stattdessen",
        "follow.that": "das es dies diese dieses den die der zweite zweiten dritte letzte* andere* anderen beide alle mehr dasselbe gleiche* davon es",
    },
)
