# ruff: noqa: E501 - tables in the letters of the language
"""Words of Portuguese."""

from context.languages import Language

LANGUAGE = Language(
    code="pt",
    name="Portuguese",
    script="latin",
    stop_words=(
        "o a os as de do da dos das que e em um uma é por com para não se mais mas como foi ao à ele ela eu você nós seu sua ou quando muito "
        "já também só pelo pela até isso isto esta este está são tem ser ter pode deve no na nos nas meu minha fazer obrigado aqui agora sem "
        "sobre ainda"
    ),
    telling_letters="ãõ",
    section_titles=(
        "Objetivo|Restrições em vigor|Decisões e motivos|Trabalho feito|Trabalho em aberto|Artefatos e identificadores exatos|"
        "Pessoas e quem disse o quê"
    ),
    unproven="não verificado",
    refusals="desculpe|sinto muito|não posso |infelizmente, não posso|lamento, mas",
    input_requests="por favor, forneça|forneça a conversa|como posso ajudar",
    negations="não nem sem",
    which_words="qual quais",
    every_words=None,
    some_words="alguns algumas",
    actions=(
        "escreva|escreve|crie|cria|busque|procure|encontre|traduza|resuma|mostre|envie|leia|apague|salve|lembre|desenhe|gere|verifique|"
        "publique|calcule|compare|baixe|faça|prepare"
    ),
    endings="es s",
    mail={
        "from": "de|remetente",
        "sent": "enviado|enviada em|enviado em",
        "subject": "assunto",
        "wrote": "escreveu",
        "forwarded": "mensagem encaminhada|mensagem original",
    },
    markers={
        "smalltalk": r"como (?:vai|vão|está|estás|foi (?:o|a) (?:teu|tua|seu|sua|resto)|correu)|tudo bem|dormiste bem|dormiu bem",
        "anew": r"a partir de agora|a partir de hoje|de agora em diante|doravante",
        "order": r"mand\w+|envi\w+|escrev\w+|respond\w+|usa\w*|por favor",
        "frame": r"pede\w*|cust\w+|preços?|cobra\w*|é|será|marcad[oa]|previst[oa]|começa|horas?|por",
        "filler": "preciso|precisa|quero|queres|quer|dar|dê|ir|vai|vir|vem|fazer|faz|tomar|dizer|saber|pensar|muito|muitos|quanto|quantos|coisa|coisas|maneira|final|fim|realmente|atualmente|algo|alguém|finalmente|posso|podes|pode|devo|tenho|tem",
        "rule": "deve|deves|devem|sempre|somente|apenas|no máximo|pelo menos|proibido|obrigatório|evite",
        "strong": "nunca|sempre|proibid[oa]s?|em hipótese alguma|jamais|sem (?:a minha|minha|o meu|meu|me perguntar)",
        "wish": "quero|preciso|queremos|gostaria|você pode",
        "decision": "decidimos|escolhemos|em vez de|combinado",
        "open": "falta|pendente|ainda não",
        "done": "feito|concluído|corrigido|criado|adicionado",
        "ended": "revogad[oa]s?|já não (?:se aplica|vale|é necessári[oa])|não (?:vale|se aplica|é) mais",
        "unsure": "quando|até|talvez|ainda",
        "failed": "falhou|erro|não",
        "duty": "deve|deves|devem|proibido|obrigatório",
        "always": "sempre|somente|apenas",
        "weak": "sempre|somente|apenas|no máximo|pelo menos|evite",
        "address": "você|vocês",
        "story": "estava|eu|tenho|tinha|foi",
        "limit": "não mais (?:de|do) que|não mais de|no máximo",
        "joint": "e|mas|enquanto",
        "worked": r"deu certo|conseguiu|sucesso|funcion\w*",
        "tried": "tent(?:ei|ou|ar)",
        "decides": r"decid\w*|decis\w*",
        "agrees": r"aceit\w*|aprov\w*|concord\w*|de acordo",
        "refuses": r"recus\w*|rejeit\w*|negou|negaram|disse que não|contra",
        "changed": "agora|nov[oa]|mudou|alterad[oa]|adiad[oa]",
        "moved": "adiad[oa]s?|antecipad[oa]s?",
        "moved_to": "às|para(?: as| o)?",
        "deadline": "prazo",
        "announced": "regra",
        "called_rule": r"(?:essa|esta) é (?:uma|a) regra",
        "instead": "em vez disso|em lugar disso",
        "urgent": "importante|atenção|cuidado",
        "ban": r"nada de \w+|não (?!tem|hav|sab|pod|ve|som|est|quer|ach|encontr|lembr)\w+[aei]mos (?:nada|nenhum\w*|mais de)",
    },
    signs={
        "casual.greeting": "olá oi bom_dia boa_tarde boa_noite tudo_bem como_vai",
        "casual.thanks": "obrigado obrigada valeu agradeç*",
        "casual.bye": "tchau adeus até_logo até_amanhã até_mais",
        "casual.yes": "sim claro certo exato combinado com_certeza",
        "casual.no": "não nao de_jeito_nenhum",
        "casual.maybe": "talvez não_sei quem_sabe",
        "casual.indifferent": "tanto_faz não_importa",
        "casual.praise": "ótimo excelente perfeito maravilhoso muito_bem bom_trabalho",
        "casual.joke": "piada* engraçad*",
        "casual.persona": "quem_é_você qual_é_o_seu_nome quantos_anos você_é_um",
        "you.word": "você tu te seu sua",
        "ask.what": "quê quem quando onde qual quais quanto quantos como por_que porquê",
        "ask.generic": "como_posso posso devo preciso_saber",
        "ask.search": "procur* busc* encontr* pesquis*",
        "ask.explain": "explique explica explicar compar* significa significado defina definição diferença* descrev* recomend* traduz* suger* informações",
        "ask.tell": "diga-me mostr* liste melhores hoje",
        "ask.topic": "previsão_do_tempo notícias receita* restaurante* hotel* viagem viaj* visto vacina* população capital câmbio perto_de",
        "code.strong": "diretório* pastas depur* compil* repositório script* bug bugs",
        "ask.world": "chuva presidente governo eleiç* guerra história população capital país mundo filme* concerto preço* custa câmbio moeda* ações",
        "ask.place": "perto_de distância rota ônibus trem metrô voo* aeroporto hotel* restaurante* loja* museu praia viagem viaj* visto passaporte vacina*",
        "ask.food": "receita* cozinh* ingrediente* calorias almoço jantar prato*",
        "code.craft": (
            "código função funções método* classe* depur* compil* sintaxe exceç* programa* script* algoritmo* banco_de_dados biblioteca* pacote* "
            "módulo* implement* repositório"
        ),
        "code.file": "arquivo* ficheiro* diretório* pastas linhas coluna*",
        "code.shell": "comando* terminal recursivamente renome*",
        "code.act": (
            "corrij* corrig* conserte teste instal* execut* escrev* otimiz* erro erros remov* copi* mova mover substitu* modific* adicion* conte "
            "orden* salve"
        ),
        "ops.metric": "uso_de_memória espaço_em_disco disco discos processador cpu gpu sistema_de_arquivos",
        "ops.strong": "processos serviços endereço_ip",
        "ops.thing": "servidor* serviço temperatura memória porta portas usuário* rede",
        "ops.check": "estado status saúde monitor* funcionando fora_do_ar",
        "coin.word": "cripto* criptomoeda* blockchain carteira*",
        "coin.weak": "saldo transfer* token",
        "media.thing": "imagem imagens foto* desenho* ilustração logotipo vídeo* áudio* voz legendas gráfico*",
        "media.verb": "desenh* pinte pintar pinta ilustr* transcrev*",
        "media.act": "crie criar gere gerar gera faça fazer edite convert* recort*",
        "media.play": "toque toca música* canção playlist rádio podcast volume",
        "mem.recall": "lembr* você_disse eu_disse falamos última_vez esquec* meu_nome",
        "mem.when": "ontem antes anteriormente",
        "mem.past": "semana_passada",
        "mem.mine": "meu minha meus minhas nosso nossa",
        "mem.i": "eu me nós",
        "mem.affairs": "reunião prazo* cliente* chefe fatura* contrato aniversário entrega pedido",
        "plan.steps": "passo_a_passo e_depois primeiro em_seguida finalmente detalhad* estratégia*",
        "plan.analyze": "plano planej* analis* análise avali* resuma resumir resumo roteiro",
        "plan.deliver": "relatório* apresentação documento* planilha tutorial guia artigo",
        "plan.also": "também além_disso adicionalmente",
        "plan.want": "preciso quero gostaria pode poderia por_favor ajude-me",
        "follow.go": "vá_em_frente continue faça_isso faz_isso vamos de_novo prossiga por_favor",
        "follow.and": "e e_o agora então também mas ou só",
        "follow.that": "isso isto esse essa o a os as segundo segunda terceiro último outro outra todos mesmo",
    },
)
