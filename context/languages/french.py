# ruff: noqa: E501 - tables in the letters of the language
"""Words of French."""

from context.languages import Language

LANGUAGE = Language(
    code="fr",
    name="French",
    script="latin",
    stop_words=(
        "le la les de des du un une et est à dans que qui pour pas sur au aux avec ne se ce il elle nous vous je sont par plus jamais "
        "toujours vers faut plaît te s'il chaque après avant déjà rien peux encore sous entre lui moi toi deux mais ou où être cette ces son "
        "sa ses leur leurs été fait faire tout comme aussi donc si peut doit sans c'est j'ai n'est d'un d'une qu'il l'on mon notre votre très "
        "bien merci"
    ),
    telling_letters="œçêèù",
    section_titles=(
        "Objectif|Contraintes en vigueur|Décisions et raisons|Travail accompli|Travail restant|Artefacts et identifiants exacts|"
        "Personnes et qui a dit quoi"
    ),
    unproven="non vérifié",
    refusals="je suis désolé|désolé, |je ne peux pas|je ne suis pas en mesure|malheureusement, je ne",
    input_requests="veuillez fournir|veuillez partager|comment puis-je vous aider",
    negations="pas ne jamais sans aucun aucune rien",
    which_words="quel quelle quels quelles",
    every_words="tous toutes chaque",
    some_words="quelques certains certaines",
    actions=(
        "écris|écrivez|rédige|rédigez|crée|créez|cherche|cherchez|trouve|trouvez|traduis|traduisez|résume|résumez|montre|montrez|envoie|"
        "envoyez|lis|supprime|enregistre|retiens|dessine|génère|générez|vérifie|publie|calcule|compare|télécharge|souviens"
    ),
    endings="es s x e",
    mail={
        "from": "de|expéditeur",
        "sent": "envoyé|envoyé le",
        "subject": "objet",
        "wrote": "a écrit|écrivait",
        "forwarded": "message transféré|message d'origine|message original",
    },
    markers={
        "smalltalk": r"comment (?:ça va|ça s'est passé|vas-tu|allez-vous|va (?:ta|ton|votre)|s'est passée? (?:ta|ton|votre|le reste))|quoi de neuf|bien dormi|des projets pour",
        "anew": r"désormais|dorénavant|à partir de maintenant|à partir d'aujourd'hui|à l'avenir",
        "order": r"envo\w+|écri\w+|répond\w*|utilis\w+|donn\w+|faites|mett\w+|moi|s'il vous plaît|svp|plus",
        "frame": r"demande\w*|coût\w*|prix|tarif\w*|facture|est|sera|fixée?s?|prévue?s?|commence|heures?|par",
        "filler": "besoin|veux|veut|voulez|voudrais|avoir|donner|donne|aller|va|venir|vient|faire|fait|prendre|dire|savoir|penser|beaucoup|combien|chose|choses|façon|fin|vraiment|actuellement|quelque|finalement|enfin|faut|doit|dois|peux|peut|puis",
        "rule": (
            r"doit|dois|devez|doivent|ne pas|(?<!je )(?:ne \w+|n'\w+) pas|jamais|toujours|seulement|uniquement|au plus|au moins|interdit|obligatoire|"
            "éviter|il faut"
        ),
        "strong": r"jamais|interdit\w*|en aucun cas|surtout pas|sans (?:mon|notre|ma) (?:accord|permission|autorisation)|toujours",
        "wish": "je veux|je voudrais|j'ai besoin|nous voulons|s'il vous plaît|s'il te plaît|peux-tu|pouvez-vous",
        "decision": "décidé|on prend|convenu|choisi|plutôt que|parce que|confirmé",
        "open": "reste à|pas encore|prochaine étape|en attente|plus tard",
        "done": "terminé|corrigé|créé|ajouté|supprimé|réservé",
        "ended": "levée?s?|annulée?s?|abandonnée?s?|ne s'applique(?:nt)? plus|n'est plus (?:valable|nécessaire|requise?)|n'est plus en vigueur",
        "unsure": r"quand|jusqu\w{0,3}|sera|serait|peut-être|encore",
        "failed": "échoué|échec|erreur|pas|partiellement",
        "duty": r"doit|(?:tu|ne) dois|devez|doivent|interdit\w*|obligatoire|il (?:ne )?faut",
        "always": "jamais|toujours|uniquement",
        "weak": r"(?:ne \w+|n'\w+) pas|ne pas|jamais|toujours|seulement|uniquement|au plus|au moins|évite[rz]?",
        "address": "s'il (?:te|vous) plaît|tu|te|toi|vous|veuillez|je",
        "story": r"j'\w+|je|nous|avons|on|était|étaient",
        "limit": "pas plus de",
        "joint": "et|mais|tandis",
        "worked": r"réussi\w*|fonctionn\w*|abouti\w*",
        "tried": r"essa[yi]\w*|tent(?:é|er)",
        "decides": r"décid\w*|décis\w*",
        "agrees": r"accept\w*|approuv\w*|d'accord|consent\w*",
        "refuses": r"refus\w*|rejet\w*|dit non|contre|déclin\w*",
        "changed": r"maintenant|nouveau|nouvelle|désormais|changé|déplacé\w?|reporté\w?|finalement|passe à",
        "moved": "reportée?s?|déplacée?s?|avancée?s?",
        "moved_to": "au|à",
        "deadline": "échéance|date limite",
        "announced": "règle|consigne",
        "called_rule": r"c'est (?:une|la) règle",
        "instead": "à la place",
        "urgent": "important|attention",
        "ban": r"pas d(?:e |')\w+(?: \w+)?(?= (?:après|avant|entre|dès|au-delà) )",
    },
    signs={
        "casual.greeting": "bonjour salut bonsoir coucou ça_va comment_vas-tu comment_allez-vous comment_ça_va",
        "casual.thanks": "merci merci_beaucoup remerci*",
        "casual.bye": "au_revoir à_bientôt à_demain à_plus bonne_nuit bonne_soirée bonne_journée",
        "casual.yes": "oui ouais d'accord bien_sûr exactement entendu volontiers tout_à_fait",
        "casual.no": "non pas_vraiment pas_du_tout non_merci",
        "casual.maybe": "peut-être je_ne_sais_pas je_sais_pas aucune_idée",
        "casual.indifferent": "peu_importe ça_m'est_égal comme_tu_veux n'importe",
        "casual.praise": "génial super parfait magnifique excellent bravo bien_joué formidable",
        "casual.joke": "blague* drôle* fais-moi_rire",
        "casual.persona": "qui_es-tu comment_t'appelles-tu quel_âge_as-tu ton_nom es-tu_un d'où_viens-tu",
        "you.word": "tu te toi ton ta tes vous votre",
        "you.asked": "es-tu as-tu êtes-vous avez-vous",
        "ask.what": "quoi qui quand où pourquoi comment combien quel quelle quels quelles qu'est-ce est-ce_que est-il y_a-t-il",
        "ask.generic": "puis-je dois-je faut-il comment_puis-je",
        "ask.search": "cherche* recherch* trouv* renseigne-toi",
        "ask.explain": "expliqu* compar* signifie signification défini* différence* décri* recommand* conseill* tradui* suggér* informations",
        "ask.tell": "dis-moi montre montrez donne-moi liste derni* meilleur* aujourd'hui",
        "ask.topic": "météo actualités recette* restaurant* hôtel* voyag* visa vaccin* population capitale taux_de_change près_de",
        "code.strong": "répertoire* dossier* débog* compil* dépôt script* bug bugs",
        "ask.world": (
            "prévisions pluie nouvelles président gouvernement élection* guerre histoire population capitale pays monde acteur actrice film* "
            "concert* événement* match ligue bourse prix coût taux_de_change devise*"
        ),
        "ask.place": (
            "près_de proche* distance itinéraire trajet bus train métro taxi vol vols aéroport hôtel* restaurant* magasin* musée plage pharmacie "
            "voyag* vacances visa passeport vaccin* fuseau_horaire"
        ),
        "ask.food": "recette* cuisin* ingrédient* calories dîner déjeuner petit-déjeuner plat plats",
        "code.craft": (
            "code fonction fonctions méthode* classe classes débog* compil* syntaxe exception* programme* programm* script* algorithme* "
            "base_de_données bibliothèque* paquet* module* implément* boucle* récursi* dépôt commit branche"
        ),
        "code.file": "fichier* répertoire* dossier* lignes colonne* permissions",
        "code.shell": "commande* terminal chaîne_de_caractères récursivement renomm*",
        "code.act": (
            "corrige* répare* teste* installe* exécut* écris écrire optimis* erreur* supprim* copi* déplac* remplac* modifi* ajout* compte trie "
            "enregistr*"
        ),
        "ops.metric": "espace_disque disque* processeur cpu gpu mémoire_utilisée système_de_fichiers bande_passante latence",
        "ops.strong": "processus services adresse_ip interface_réseau",
        "ops.thing": "serveur* service température mémoire port ports utilisateur* réseau",
        "ops.check": "état statut santé surveill* fonctionne en_panne en_ligne",
        "coin.word": "crypto* cryptomonnaie* blockchain portefeuille*",
        "coin.weak": "solde jeton* transfér* échang*",
        "media.thing": "image* photo* dessin* illustration* logo vidéo* audio* voix sous-titres graphique* diagramme* enregistrement",
        "media.verb": "dessin* peins illustr* transcri* lis_à_voix_haute",
        "media.act": "crée créer génère générer fais faire conçois recadr* convertis visualis*",
        "media.play": "joue chanson* musique playlist radio podcast volume",
        "mem.recall": (
            "souviens rappelle-toi te_rappelles tu_as_dit tu_m'as_dit je_t'ai_dit nous_avons_discuté la_dernière_fois oubli* mon_nom "
            "comment_je_m'appelle"
        ),
        "mem.when": "hier avant précédemment",
        "mem.past": "la_semaine_dernière était",
        "mem.mine": "mon ma mes notre nos",
        "mem.i": "je j'ai moi nous",
        "mem.affairs": "réunion* rendez-vous échéance* client* patron collègue* facture* contrat anniversaire livraison commande enfants budget",
        "plan.steps": "étape_par_étape et_ensuite d'abord ensuite enfin détaillé* complet stratégie*",
        "plan.analyze": "plan planifi* analys* évalu* résume résumez démontr* architecture",
        "plan.deliver": "rapport* présentation diapositives document* tableur tutoriel guide article",
        "plan.also": "aussi également en_plus de_plus par_ailleurs",
        "plan.want": "j'ai_besoin je_veux je_voudrais peux-tu pourrais-tu pouvez-vous s'il_te_plaît s'il_vous_plaît aide-moi",
        "follow.go": "vas-y continue allez fais-le encore recommence lance poursuis s'il_te_plaît",
        "follow.and": "et et_pour maintenant alors aussi mais ou seulement plutôt",
        "follow.that": "ça cela ce celui celle le la les second seconde deuxième troisième dernier dernière autre autres tous même",
    },
)
