# ruff: noqa: E501 - tables in the letters of the language
"""Words of Italian."""

from context.languages import Language

LANGUAGE = Language(
    code="it",
    name="Italian",
    script="latin",
    stop_words=(
        "il lo la i gli le di del della dei delle e è che in un una per con non si da al alla sono come più ma anche se ha hanno questo "
        "questa questi nel nella dal dalla mi ti ci vi lui lei io noi essere stato fare può deve cosa quando dove perché già solo tutto tutti "
        "ancora grazie c'è l'ho"
    ),
    telling_letters=None,
    section_titles=(
        "Obiettivo|Vincoli in vigore|Decisioni e motivi|Lavoro svolto|Lavoro da fare|Artefatti e identificatori esatti|"
        "Persone e chi ha detto cosa"
    ),
    unproven="non verificato",
    refusals="mi dispiace|non posso |purtroppo non posso|spiacente",
    input_requests="fornisci la conversazione|per favore fornisci|come posso aiutar",
    negations="non mai senza nessun",
    which_words="quale quali",
    every_words="tutti tutte ogni",
    some_words="alcuni alcune",
    actions=(
        "scrivi|crea|cerca|trova|traduci|riassumi|mostra|invia|leggi|cancella|salva|ricorda|disegna|genera|verifica|pubblica|calcola|"
        "confronta|scarica|prepara"
    ),
    endings="o a e i",
    mail={
        "from": "da|mittente",
        "sent": "inviato",
        "subject": "oggetto",
        "wrote": "ha scritto|scrive",
        "forwarded": "messaggio inoltrato|messaggio originale",
    },
    markers={
        "smalltalk": r"come (?:stai|sta|va|è andat[oa])|che fai (?:oggi|domani|di bello)|dormito bene",
        "anew": r"d'ora in poi|d'ora in avanti|da adesso|da oggi",
        "order": r"mand\w+|invi\w+|scriv\w+|rispond\w+|usa\w*|per favore",
        "frame": r"chied\w+|cost\w+|prezz\w+|vuole|è|sarà|fissat[oa]|previst[oa]|inizia|ore|per",
        "filler": "bisogno|voglio|vuoi|vuole|vorrei|dare|dammi|andare|va|venire|viene|fare|fa|prendere|dire|dimmi|sapere|pensare|molto|molti|quanto|quanti|cosa|cose|modo|fine|davvero|attualmente|qualcosa|qualcuno|infine|posso|puoi|devo|deve",
        "rule": (
            r"devi|devono|non \w+(?:are|ere|ire|arlo|erlo|irlo|arla|erla|irla)|non (?:\w+ ){1,4}mai|mai(?= \w+[aei]re(?!\w))|solo|soltanto|al massimo|"
            "almeno|vietato|obbligatorio|bisogna"
        ),
        "strong": r"sempre|non (?:\w+ ){1,4}mai|mai(?= \w+[aei]re(?!\w))|vietat[oaie]|senza (?:il mio|la mia|chiedermi)|in nessun caso",
        "wish": "voglio|vorrei|ho bisogno|per favore|puoi",
        "decision": "deciso|scegliamo|invece di|perché|concordato",
        "open": "manca|ancora|in attesa|prossimo passo",
        "done": "fatto|completato|corretto|creato|aggiunto",
        "ended": "revocat[oaie]|annullat[oaie]|non (?:vale|serve|è) più|non si applica più",
        "unsure": "finché|sarà|forse|ancora",
        "failed": "fallito|errore|non",
        "duty": r"devi|devono|vietato|obbligatorio|bisogna|non \w+(?:are|ere|ire|arlo|erlo|irlo|arla|erla|irla)",
        "always": r"non (?:\w+ ){1,4}mai|mai(?= \w+[aei]re(?!\w))|soltanto",
        "weak": r"non (?:\w+ ){1,4}mai|mai(?= \w+[aei]re(?!\w))|soltanto|al massimo|almeno",
        "address": "per favore|lei|voi",
        "story": "io|noi|ho|abbiamo|avevo|aveva",
        "limit": "non più di",
        "joint": "e|ma|mentre",
        "worked": r"riuscit\w|funzion\w*|successo",
        "tried": "tent(?:ato|ata|are)|prov(?:ato|ata|are)",
        "decides": r"decid\w*|decis\w*",
        "agrees": r"accett\w*|approv\w*|acconsent\w*|d'accordo",
        "refuses": r"rifiut\w*|respin\w*|rigett\w*|detto di no|contrari\w",
        "changed": "adesso|ora|nuov[oa]|cambiat[oa]|spostat[oa]",
        "moved": "spostat[oa]|rinviat[oa]|anticipat[oa]",
        "moved_to": "al?|alle",
        "deadline": "scadenza",
        "announced": "regola",
        "called_rule": r"è (?:una|la) regola",
        "instead": "invece",
        "urgent": "importante|attenzione",
        "ban": r"niente \w+(?= (?:dopo|prima|tra|fino|oltre) )",
    },
    signs=None,
)
