# ruff: noqa: E501 - tables in the letters of the language
"""Words of Spanish."""

from context.languages import Language

LANGUAGE = Language(
    code="es",
    name="Spanish",
    script="latin",
    stop_words=(
        "el la los las de del que y en un una es por con para no se lo como más pero sus su le ya este esta estos esto sí porque cuando muy "
        "sin sobre también me hasta hay donde quien desde todo nos ser son fue ha han puede debe al está están qué cómo yo tu mi hacer favor "
        "gracias aquí ahora"
    ),
    telling_letters="ñ¿¡",
    section_titles=(
        "Objetivo|Restricciones vigentes|Decisiones y motivos|Trabajo hecho|Trabajo pendiente|Artefactos e identificadores exactos|"
        "Personas y quién dijo qué"
    ),
    unproven="sin verificar",
    refusals="lo siento|no puedo |me temo que no|lamentablemente, no puedo|lamento, pero",
    input_requests="por favor, proporcione|proporciona la conversación|comparte la conversación|en qué puedo ayudar",
    negations="nunca jamás sin ningún ninguna",
    which_words="cuál cuáles",
    every_words="todos todas cada",
    some_words="algunos algunas",
    actions=(
        "escribe|crea|busca|encuentra|traduce|resume|muestra|envía|lee|borra|guarda|recuerda|dibuja|genera|verifica|publica|calcula|compara|"
        "descarga|redacta|haz|prepara"
    ),
    endings="es s",
    mail={
        "from": "de|remitente",
        "sent": "enviado|enviado el",
        "subject": "asunto",
        "wrote": "escribió",
        "forwarded": "mensaje reenviado|mensaje original",
    },
    markers={
        "smalltalk": r"(?:qué|cómo) (?:tal|estás|está usted|te va|te fue|andas|fue tu|estuvo tu|va todo)|algún plan para|dormiste bien",
        "anew": r"a partir de ahora|a partir de hoy|desde ahora|desde hoy|de ahora en adelante|en adelante",
        "order": r"m[áa]nd\w+|env[íi]\w+|escr[íi]b\w*|resp[óo]nd\w+|usa\w*|d[áa]me\w*|haz\w*|pon\w*|por favor",
        "frame": r"pid\w+|cuest\w+|precio\w*|cobra\w*|vale|es|será|son|fijad[oa]|prevista?o?|empieza|hora|horas|por",
        "filler": "necesito|necesita|necesitas|quiero|quieres|quiere|dar|dame|doy|ir|va|venir|viene|hacer|hace|tomar|decir|dime|saber|pensar|mucho|muchos|cuánto|cuántos|cosa|cosas|manera|final|fin|realmente|actualmente|algo|alguien|finalmente|tengo|tiene|tienes|puedo|puedes|debo|hay",
        "rule": (
            r"debe|debes|deben|no debes|(?<=por favor )no \w+es|nunca|jamás|siempre|solo|sólo|solamente|como máximo|al menos|prohibido|obligatorio|evita|"
            "hay que"
        ),
        "strong": "nunca|siempre|prohibid[oa]s?|en ningún caso|bajo ningún concepto|jamás|sin (?:mi|preguntarme|consultarme)",
        "wish": "quiero|necesito|queremos|por favor|puedes|podrías|me gustaría",
        "decision": "decidido|decidimos|acordado|elegimos|porque|en lugar de|confirmado",
        "open": "falta|pendiente|todavía no|aún no|próximo paso|más tarde",
        "done": "hecho|terminado|corregido|creado|añadido|eliminado|reservado",
        "ended": "anulad[oa]s?|cancelad[oa]s?|levantad[oa]s?|ya no (?:se aplica|aplica|vale|es necesari[oa]|hace falta|rige)",
        "unsure": "cuando|hasta|será|quizás?|todavía|aún",
        "failed": "falló|fallido|intentado|no|parcialmente",
        "duty": r"debe|debes|deben|no debes|prohibido|obligatorio|hay que|(?<=por favor )no \w+es",
        "always": "nunca|jamás|siempre|solo|sólo|solamente",
        "weak": "nunca|jamás|siempre|solo|sólo|solamente|como máximo|al menos|evita",
        "address": "por favor|usted|ustedes|tú|vos",
        "story": "yo|nosotros|he|hemos|había|era|fue|estaba",
        "limit": "no más de|no menos de",
        "joint": "y|pero|mientras",
        "worked": r"funcion\w*|éxito|logr\w+",
        "tried": "intent(?:é|ó|ar|aron)",
        "decides": r"decid\w*|decis\w*",
        "agrees": r"acept\w*|aprob\w*|aprueb\w*|de acuerdo|dijo que sí",
        "refuses": r"rechaz\w*|se neg(?:ó|aron)|dijo que no|en contra|deneg\w*",
        "changed": r"ahora|nuev[oa]|cambi\w{1,3}|movid[oa]|movió|actualiza\w*|finalmente|sube|baja|lo deja",
        "moved": r"movid[oa]s?|pospuest[oa]s?|aplazad[oa]s?|adelantad[oa]s?|cambi\w{1,3}",
        "moved_to": "al?|a las|para",
        "deadline": "fecha límite|plazo",
        "announced": "regla|norma",
        "called_rule": r"(?:esa|esta) es (?:una|la) regla",
        "instead": "en su lugar|en lugar de eso",
        "urgent": "importante|ojo|atención",
        "ban": r"nada de \w+|no (?!ten|hem|hab|sab|pod|ve|som|est|quer|cre|encontr|record)\w+[aei]mos (?:nada|ning\w+|más de)",
    },
    signs={
        "casual.greeting": "hola buenos_días buenas_tardes buenas_noches buenas cómo_estás qué_tal cómo_te_va saludos",
        "casual.thanks": "gracias muchas_gracias mil_gracias agradez* agradec*",
        "casual.bye": "adiós hasta_luego hasta_mañana hasta_pronto nos_vemos chao chau cuídate",
        "casual.yes": "sí si claro vale correcto exacto cierto de_acuerdo por_supuesto perfecto desde_luego",
        "casual.no": "no no_gracias para_nada incorrecto falso",
        "casual.maybe": "quizás quizá tal_vez puede_ser no_sé no_estoy_seguro",
        "casual.indifferent": "da_igual me_da_igual no_importa como_quieras lo_que_sea cualquiera",
        "casual.praise": "genial excelente estupendo maravilloso buen_trabajo bien_hecho fantástico increíble me_encanta muy_bien",
        "casual.joke": "chiste chistes gracioso* broma* hazme_reír anímame",
        "casual.persona": "quién_eres cómo_te_llamas cuántos_años_tienes tu_nombre eres_un eres_una de_dónde_eres tus_aficiones quién_te",
        "you.word": "tú tu tus te ti usted",
        "you.asked": "eres tienes estás te_gusta",
        "ask.what": "qué quién quiénes cuándo dónde adónde cuál cuáles cuánto cuántos cuánta cuántas cómo por_qué es_cierto",
        "ask.generic": "cómo_puedo puedo debo necesito_saber cómo_llego",
        "ask.search": "busca* encuentra encontrar averigua* investiga* consulta*",
        "ask.explain": (
            "explica explicar explique explícame explicación compar* significa significado define definición diferencia* describ* recomiend* "
            "recomendar traduc* suger* sugier* deletrea* información ventajas_y_desventajas"
        ),
        "ask.tell": "dime muéstra* dame lista últim* mejores actual* hoy",
        "ask.topic": "clima noticias titulares receta* restaurante* hotel* viaj* visado vacuna* población capital tipo_de_cambio cerca_de",
        "code.strong": "directorio* carpeta* depura* compil* refactoriz* repositorio script scripts bug bugs",
        "ask.world": (
            "pronóstico lluvia presidente gobierno elecciones guerra historia población capital país países mundo actor actriz película* "
            "concierto* evento* partido liga acciones bolsa precio* coste costo cuesta tipo_de_cambio moneda* euros dólares convert*"
        ),
        "ask.place": (
            "cerca_de cercano* cercana* distancia ruta cómo_llegar autobús tren metro taxi vuelo* aeropuerto hotel* restaurante* tienda* museo "
            "playa farmacia viaj* vacaciones visado visa pasaporte vacuna* zona_horaria enchufe*"
        ),
        "ask.food": "receta* cocin* hornear ingrediente* calorías nutrici* comida cena almuerzo desayuno plato platos",
        "code.craft": (
            "código codigo función funciones método* clase clases depura* refactoriz* compil* sintaxis excepci* traza programa programas "
            "programar programación script scripts algoritmo* base_de_datos bases_de_datos librería* biblioteca* paquete* módulo* implement* "
            "bucle* recursiv* repositorio commit rama"
        ),
        "code.file": "archivo* fichero* directorio* carpeta* ruta_del líneas columna* permisos",
        "code.shell": "comando* terminal consola cadena* recursivamente patrón renombr*",
        "code.act": (
            "arregla* corrige corregir repara* prueba* instala* ejecuta* escrib* optimiz* error errores elimina* borra* copia* mueve reemplaza* "
            "modifica* agrega* añade cuenta ordena guarda* actualiza*"
        ),
        "ops.metric": "uso_de_memoria uso_de_disco uso_de_cpu espacio_en_disco disco discos procesador cpu gpu sistema_de_archivos ancho_de_banda latencia",
        "ops.strong": "procesos servicios dirección_ip interfaz_de_red usuarios_conectados",
        "ops.thing": "proceso servidor* servicio temperatura memoria puerto* usuario* red",
        "ops.check": "estado salud monitor* supervisa supervisar funcionando caído en_línea disponible",
        "coin.word": "cripto* criptomoneda* blockchain billetera* monedero*",
        "coin.weak": "saldo transferir transferencia token intercambi*",
        "media.thing": "imagen imágenes foto* dibujo* ilustración* logo logotipo video* vídeo* audio* voz subtítulos gráfico* diagrama* grabación",
        "media.verb": "dibuja* pinta* ilustra* transcrib* narra lee_en_voz_alta",
        "media.act": "crea crear créame genera generar genérame haz hacer diseña* recorta* edita* convierte convertir visualiza*",
        "media.play": "reproducir reprodúceme canción canciones música lista_de_reproducción radio podcast volumen audiolibro pon toca",
        "mem.recall": (
            "recuerd* recordar acuérdate te_acuerdas dijiste me_dijiste te_dije mencioné hablamos acordamos la_última_vez olvid* mi_nombre "
            "cómo_me_llamo"
        ),
        "mem.when": "ayer antes anteriormente",
        "mem.past": "la_semana_pasada el_mes_pasado hace era fue",
        "mem.mine": "mi mis mío mía nuestro nuestra nuestros",
        "mem.i": "yo me nosotros",
        "mem.affairs": (
            "reunión reuniones cita citas plazo* cliente* jefe colega* factura* contrato cumpleaños entrega pedido* hijos esposa marido "
            "presupuesto"
        ),
        "plan.steps": "paso_a_paso y_luego primero después finalmente detallad* exhaustiv* completo estrategia*",
        "plan.analyze": "plan planea* planifica planificar analiz* análisis evalúa evaluar itinerario resume resumir resumen arquitectura demuestra",
        "plan.deliver": "informe* presentación diapositivas documento* hoja_de_cálculo tutorial guía ensayo artículo guárdalo",
        "plan.also": "además también asimismo adicionalmente",
        "plan.want": "necesito quiero quisiera me_gustaría puedes podrías por_favor ayúdame",
        "follow.go": "adelante continúa sigue hazlo vamos procede dale otra_vez de_nuevo empieza ejecútalo por_favor",
        "follow.and": "y y_qué_hay_de qué_tal ahora entonces luego también pero o solo en_cambio",
        "follow.that": "eso esto ese esta ese lo los la las segundo segunda tercero tercera último última otro otra otros ambos todos más mismo misma el",
    },
)
