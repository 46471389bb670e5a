# ruff: noqa: E501 - tables of words in several scripts
"""The policy of preflight: thresholds, weights and what each category may take."""

from context.preflight.types import THINKING_ORDER, Category, MemoryParams, ThinkingLevel

_TABLE: dict[Category, str] = {
    Category.CASUAL: (
        "casual.greeting 1 casual.thanks 1 casual.bye 1 casual.yes 1 casual.no 1 casual.maybe 1 casual.indifferent 1 casual.praise .7 "
        "casual.joke 1.2 casual.persona 1 casual.feeling .6 shape.short .4 shape.single .3 shape.wordless 1 both.you_question .7 you.word .3 "
        "code.file -.7 code.craft -.7 code.lang -.7 code.shell -.5 code.act -.5 ask.place -.5 ask.world -.4 ask.food -.6 media.thing -.5 media.play -.5 "
        "ops.thing -.3 ops.strong -.7 shape.middle -.6 plan.want -.2 ask.search -.4 ask.topic -.6 code.strong -.8 coin.word -.7 coin.name -.7 shape.long -2"
    ),
    Category.RESEARCH: (
        "ask.what 1 ask.search .7 ask.explain 1 ask.topic 1 ask.tell .5 ask.show .5 ask.world .7 ask.place .8 ask.food .8 shape.question .5 shape.link .6 "
        "both.you_question 1 ask.generic .4 attached.document .6"
    ),
    Category.CODING: (
        "code.strong 1 code.file .7 code.craft .7 code.lang .8 code.shell .7 code.act .45 shape.identifier .4 shape.operator .5 shape.fence 1.2 shape.path .6 "
        "shape.link .25 ops.thing .25 ops.strong .3"
    ),
    Category.CRYPTO: "coin.name 1 coin.word 1 coin.weak .4 shape.dollar .4 shape.cashtag .8",
    Category.MEDIA: "media.thing .65 ask.search .35 ask.show .35 media.verb 1 media.act .35 media.play 1 shape.media_file .6 both.make_media .3 attached.media 1.2",
    Category.MONITORING: "both.is_up 1 ops.metric 1 ops.strong 1 ops.thing .6 ops.check .6 code.file .15 code.strong .15 shape.path .15 code.act .3 mem.mine -.2",
    Category.MEMORY: (
        "mem.recall 1 mem.past .3 mem.mine .3 both.my_question .7 both.own_question .7 both.affair_question .8 shape.question .2 mem.i .2"
    ),
    Category.COMPLEX: (
        "shape.long 1 shape.middle .35 plan.steps .5 both.first_then .7 plan.several .7 plan.analyze .5 plan.deliver .45 plan.also .4 shape.sentences .5 shape.many_sentences .3 "
        "shape.list .7 shape.many_questions .8 both.want_more .2 shape.path .2 shape.document .5"
    ),
}


def _read(table: dict[Category, str]) -> dict[str, tuple[tuple[int, float], ...]]:
    weights: dict[str, tuple[tuple[int, float], ...]] = {}
    for place, category in enumerate(Category):
        line = table[category]
        parts = line.split()
        for sign, weight in zip(parts[::2], parts[1::2], strict=True):
            weights[sign] = (*weights.get(sign, ()), (place, float(weight)))
    return weights


WEIGHTS = _read(_TABLE)
"""By sign, the weight added to each category, by place among the categories."""


_TOOLS = {
    Category.CASUAL: "message",
    Category.RESEARCH: "exec web_fetch web_search message read",
    Category.CODING: "exec read write edit apply_patch process message",
    Category.CRYPTO: "exec message web_fetch web_search",
    Category.MEDIA: "exec message",
    Category.MONITORING: "exec message",
    Category.MEMORY: "memory_search memory_get message",
}
TOOLS = {category: tuple(names.split()) for category, names in _TOOLS.items()}
"""Tools by category, without `complex`, which needs all of them."""

KNOWN_TOOLS = frozenset(name for names in TOOLS.values() for name in names)
"""The tools named in the table."""

FULL_MEMORY = MemoryParams(15, 500)
MEMORY = {
    Category.CASUAL: MemoryParams(0, 0),
    Category.RESEARCH: MemoryParams(10, 400),
    Category.CODING: MemoryParams(5, 200),
    Category.CRYPTO: MemoryParams(8, 300),
    Category.MEDIA: MemoryParams(3, 150),
    Category.MONITORING: MemoryParams(3, 150),
    Category.MEMORY: MemoryParams(25, 1000),
    Category.COMPLEX: FULL_MEMORY,
}

DEFAULT_THINKING = ThinkingLevel.LOW
THINKING = {
    Category.CASUAL: ThinkingLevel.OFF,
    Category.RESEARCH: ThinkingLevel.LOW,
    Category.CODING: ThinkingLevel.MEDIUM,
    Category.CRYPTO: ThinkingLevel.MEDIUM,
    Category.MEDIA: ThinkingLevel.OFF,
    Category.MONITORING: ThinkingLevel.OFF,
    Category.MEMORY: ThinkingLevel.LOW,
    Category.COMPLEX: ThinkingLevel.HIGH,
}


def highest(levels: list[ThinkingLevel]) -> ThinkingLevel:
    """The highest of several levels; the default of none."""
    return max(levels, key=THINKING_ORDER.index, default=DEFAULT_THINKING)


def widest(params: list[MemoryParams]) -> MemoryParams:
    """Return the most permissive of several parameters, each number for itself; full memory for none."""
    if not params:
        return FULL_MEMORY
    found = MemoryParams(0, 0)
    for one in params:
        found = found.widest(one)
    return found
