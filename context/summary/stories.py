# ruff: noqa: E501, RUF001 - a table; the words are written in their languages' own letters
"""Guesses and tales with the words of rules: "You must be tired", "I have never been there"."""

import re

_ENGLISH = (
    r"(?:that|it|this|he|she|they|there|those|these|who|what|you) must be(?! (?:under|below|above|at|less|more|within|no|in|exactly|between|before|after|done|set|kept|used|written|sent|approved|signed|valid|(?!tired|exhausted|excited|thrilled|worried|scared|delighted|relieved|bored|shocked|surprised|amazed|disappointed|frustrated|overwhelmed|devastated|embarrassed|confused|stressed|pleased|relaxed)\w+ed)(?!\w))(?= \w)|"
    r"must(?:'ve| have| be (?:nice|great|hard|fun|exciting))|(?:don't|do not) tell me (?:you|that|he|she|it|they|we)|never in (?:my|a|all)|never ?mind|"
    r"you (?:never|always) (?!ask|push|delete|send|use|share|mention|write|reply|answer|run|commit|deploy|change|touch)\w+"
)
_OTHERS = (
    # German
    r"(?:muss|musst|müsst|müssen|dürfte)\s(?:\w+\s){0,5}(?:gewesen sein|\w+(?:t|en) haben|\w+t worden sein)|(?:du musst|ihr müsst)\s(?:\w+\s){1,3}sein|"
    r"darf doch (?:wohl )?nicht wahr sein|(?:ich|wir)\s(?:\w+\s)?(?:war|waren|hatten?|habe|haben|wurden?|muss|müssen|bin|sind)|(?:er|sie|es) (?:war|hatte|hat|wurde)|(?:war|waren|hatten|wurde) (?:ich|er|sie|es|wir)|das (?:war|hat)|"
    # French
    r"(?:tu dois|vous devez|(?:il|elle|on|ça|cela|ce) doit) (?:bien )?(?:être|avoir)(?! (?:\w+ )?(?:avant|après|en|sous|à|au)(?!\w))|devai(?:t|s|ent)|(?:a|ont|as|avez|ai) dû|(?:j'ai|je suis|je|nous) (?:\w+ )?(?:jamais|toujours|dois|devons)|"
    r"(?:était|étaient)|(?:il|elle|ils|elles|on) (?:n'\w+ jamais|(?!doit|doivent|faut)\w+ toujours|ne (?!faut|doit|doivent|peut|peuvent)\w+ jamais)|"
    # Spanish, Portuguese, Italian
    r"debe[sn]? (?:de|estar|haber|ser (?:increíble|difícil|genial|duro))|debió|debieron|debía|me (?:gust|encant)\w+|(?:nunca|siempre|jamás) (?:me |lo |la |he |había |hemos )?\w*(?:é|í|aba|ía|ado|ido|fui|estuve|tuve|quise)|"
    r"deve[ms]? (?:ter|estar|ser (?:lindo|ótimo|difícil|bom))|(?:nunca|sempre) (?:me |tinha |tenho )?(?:estive|fui|tive|quis|soube|vi|\w+ei|\w+ava|\w+ia)|"
    r"dev'esser\w?|(?:deve|devono|devi) (?:esser\w? (?:stat|stanc|difficil|bell|content)\w+|aver \w+)|(?:sono|ho|ha|abbiamo|hanno|ero|era|avevo|aveva) (?:mai|sempre)|"
    # Dutch, Scandinavian
    r"moet(?:en)? (?:wel|vast|haast)|moet(?:en)? (?:\w+ ){0,4}(?:geweest|gehad)|(?:ik|wij|we|hij|ze) (?:heb|hebben|was|waren|had|hadden|heeft) |(?:jag|vi|han|hon|det|jeg|hun) (?:har|hade|var|är|er|havde|hadde|måste|må|skal)|"
    # Polish, Czech, Turkish
    r"musiał\w*|musel\w*|\w+(?:łem|łam|liśmy|łyśmy|łeś|łaś)|był[aoiy]?|(?:harika|güzel|zor|yorgun|muhteşem|eğlenceli|zevkli) olmalı\w*|\w+(?:d[ıiuü]m|t[ıiuü]m|m[ıiuü]şt[ıiuü]m?|d[ıiuü]k)(?=\W*\Z)|"
    # Russian, Ukrainian
    r"должно быть,|(?:я|мы|он|она|они|оно|ми|він|вона|вони) (?:\w+ ){0,2}(?:никогда|всегда|ніколи|завжди|должн\w+|повинн\w+)|(?:никогда|всегда|ніколи|завжди) (?!(?:не )?\w+(?:й|йте|ь|ьте|и|ите|іть) )(?:\w+ ){0,2}\w+(?:л|ла|ло|ли|лся|лась|лись|лася)|"
    # Indonesian, Finnish, Hungarian
    r"(?:saya|aku|kami|dia) (?:selalu|harus|tidak pernah|belum pernah)|(?:minä|hän|me|en|ei) (?:ole|olen|oli)|(?:én|ő|mi) (?:soha|mindig)|"
    # somebody else, or somebody's own: "Ella siempre llega tarde", "Meine Kinder essen nie Gemüse"
    r"(?:él|ella|ellos|ellas|ele|ela|eles|elas|lui|lei|loro|hij|zij|ze|on|ona|oni|onlar|o) (?!deb|dev|mus|moet)(?:\w+ )?(?:nunca|siempre|jamás|sempre|mai|nooit|altijd|nigdy|zawsze|asla|her zaman)|"
    r"(?:mis?|meus?|minhas?|(?:i|le) m(?:iei|ie)|(?:il|la) mi[oa]|mijn|meine?|mes|moje|moi|mój|moja|мои|мой|моя|мої|мій) \w+ (?!deb|dev|doi|mus|müs|moe|дол|пов)(?:\w+ )?(?:non \w+ )?(?:nunca|siempre|jamás|sempre|mai|nooit|altijd|nigdy|zawsze|nie|immer|toujours|никогда|всегда|ніколи|завжди)(?: nie)?(?: se| si)? (?!deb|dev)\w+|"
    r"(?:nigdy|zawsze) (?:nie )?(?:się )?(?!mus|powin|można|wolno|ma |mają)\w+(?:ją|ą|emy|imy|uje|a)|\w+l[ae]r[ıi]m (?:asla|her zaman) (?:\w+ ){0,2}\w+(?:z|r)(?=\W*\Z)|(?:никогда|всегда) (?:не )?(?!следует|может|могут|будет|будут)\w+(?:ет|ит|ют|ят|ут|ат)(?:ся)?|"
    r"(?:ніколи|завжди) (?:не )?\w+(?:ється|ить|уть|ють|ять|ать)(?:ся)?|(?:наверное|наверно|видимо)|het moet \w+ zijn|sie müssen (?:sehr|so|ja) \w+ sein|debe ser (?:bonito|lindo|hermoso|maravilloso)"
)
_UNSPACED = (
    r"那一定|一定(?:很|是|花|会|得|累|特别|非常)|一定.{0,12}吧[。！!]?\Z|从来没|从没|(?:他|她|他们|她们|它)[^，。！？]{0,4}(?:从不|绝不|一定|总是|必须)|"
    r"きっと|(?:絶対|必ず).{0,16}(?:と思|でしょう|だろう|はず)|(?:彼|彼女|彼ら)(?:は|が|も)|(?:ました|でした|だった|なかった)[。！!]?\Z|"
    r"겠(?:어요|네요|네|다|지)|(?:^|\s)(?:그|그녀|그들)(?:는|은|가|이)\s|(?:었|았|였)(?:어요|습니다|다)[.!]?\Z|(?:لم|لا|لن) أ|لم ن|मैं |हम |था|थे|थी|हो(?:गा|गी)[।!]?\Z|(?:हमेशा|कभी).{0,60}(?:है|हैं)[।!.]?\Z|(?:^|\s)(?:هي|هو|هم|היא|הוא|הם)\s"
)
_STORY = re.compile(rf"(?<!\w)(?:{_ENGLISH}|{_OTHERS})(?!\w)|{_UNSPACED}")


def tells_story(sentence: str) -> bool:
    """Tell whether a sentence guesses or tells something, with the words of a rule in any language.

    Args:
        sentence: One sentence, case-folded, with straight apostrophes.

    Returns:
        True for a guess such as "You must be tired" and for a tale such as "I have never been there".
    """
    return _STORY.search(sentence) is not None
