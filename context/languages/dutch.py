# ruff: noqa: E501 - tables in the letters of the language
"""Words of Dutch."""

from context.languages import Language

LANGUAGE = Language(
    code="nl",
    name="Dutch",
    script="latin",
    stop_words=(
        "de het een en van is dat in op te zijn met voor niet aan er om ook als maar door naar bij uit dan nog wel geen ik je jij hij wij we "
        "zij ze u heeft hebben had wordt worden werd kan kunnen moet moeten zal deze dit die wat hoe waar mijn jouw ons onze meer over tot "
        "graag alle"
    ),
    telling_letters=None,
    section_titles="Doel|Geldende voorwaarden|Besluiten en redenen|Gedaan werk|Openstaand werk|Artefacten en exacte aanduidingen|Personen en wie wat zei",
    unproven="niet geverifieerd",
    refusals="het spijt me|sorry, maar ik|ik kan niet|ik kan geen|helaas kan ik",
    input_requests="geef het gesprek|deel het gesprek|hoe kan ik je helpen|hoe kan ik u helpen",
    negations="niet geen nooit zonder",
    which_words="welke",
    every_words="elke",
    some_words="sommige enkele",
    actions=(
        "schrijf|maak|zoek|vind|vertaal|toon|stuur|lees|verwijder|bewaar|onthoud|teken|genereer|controleer|publiceer|bereken|vergelijk|"
        "download"
    ),
    endings="en s e",
    mail={
        "from": "van",
        "sent": "verzonden|verstuurd",
        "subject": "onderwerp",
        "wrote": "schreef|heeft geschreven",
        "forwarded": "doorgestuurd bericht|oorspronkelijk bericht",
    },
    markers={
        "smalltalk": r"hoe (?:gaat|was|is) (?:het|je|jouw|jullie|de rest)|lekker geslapen|nog plannen voor",
        "anew": r"vanaf nu|vanaf vandaag|voortaan",
        "order": r"stuur|schrijf|antwoord|gebruik|graag|mij|me",
        "frame": r"vraagt|kost\w*|prijs|rekent|is|wordt|gepland|begint|uur|per",
        "filler": "nodig|wil|wilt|willen|geven|geef|gaan|gaat|komen|komt|maken|maakt|nemen|zeggen|weten|denken|veel|hoeveel|ding|dingen|manier|einde|eigenlijk|echt|iets|iemand|eindelijk|moet|mag|kan|kunnen",
        "rule": "moet|moeten|mag niet|nooit|altijd|alleen|hoogstens|minstens|verboden|verplicht",
        "strong": "nooit|verboden|in geen geval|zonder mijn|altijd",
        "wish": "ik wil|ik heb|graag|kun je",
        "decision": "besloten|we nemen|afgesproken|omdat|bevestigd",
        "open": "nog niet|volgende stap|openstaand|wacht op",
        "done": "gedaan|klaar|opgelost|gemaakt|toegevoegd|geboekt",
        "ended": "ingetrokken|opgeheven|vervallen|geldt niet meer|niet meer nodig",
        "unsure": "als|zodra|tot|zal|misschien",
        "failed": "mislukt|fout|niet",
        "duty": "moet|moeten|mag niet|verboden|verplicht",
        "always": "nooit|altijd|alleen",
        "weak": "nooit|altijd|alleen|hoogstens|minstens",
        "address": "jij|jullie|u|alstublieft|alsjeblieft",
        "story": "ik|wij|heb|hebben",
        "limit": "niet meer dan",
        "joint": "en|maar|terwijl",
        "worked": "gelukt|werkte",
        "tried": r"probeer\w*|geprobeerd",
        "decides": r"beslis\w*|beslui\w*",
        "agrees": r"akkoord|goedgekeurd|aanvaard\w*|geaccepteerd|ingestemd|instem\w*",
        "refuses": r"geweigerd|weiger\w*|afgewezen|afgekeurd|verworpen|tegen",
        "changed": "nu|nieuwe?|gewijzigd|verzet",
        "moved": "verzet|verplaatst",
        "moved_to": "op|naar",
        "deadline": "termijn|deadline",
        "announced": r"\w*regel",
        "instead": "in plaats daarvan",
        "urgent": "belangrijk|let op",
        "ban": r"geen \w+(?: \w+)?(?= (?:na|voor|tussen|tot|boven) \d)",
    },
    signs=None,
)
