"""Plans for tests of learning."""

from collections.abc import Sequence

from hypothesis import strategies as st

from context.priors.prior_set import make_prior_set
from context.priors.score import BoundPriors, bind_priors
from context.priors.state import State, learn
from context.priors.types import JoinedPlan, ToolOutcome

DAY = 20_000
TOOLS = ("weather", "mail", "calendar", "maps", "music", "notes", "bank", "news")
WORDS = {
    "weather": "forecast rain umbrella sunny degrees",
    "mail": "inbox reply send letter attachment",
    "calendar": "meeting appointment schedule tuesday reminder",
    "maps": "route street drive traffic junction",
    "music": "song playlist album band tune",
    "notes": "jot remember list memo draft",
    "bank": "transfer balance account invoice euros",
    "news": "headline article paper journalist story",
}


def went(tool: str, *, ok: bool = True) -> ToolOutcome:
    """What became of one step."""
    return ToolOutcome(tool, ok)


def plan(intent: str, *tools: str, day: int = DAY, ok: bool = True) -> JoinedPlan:
    """A plan whose steps all ended the same way."""
    return JoinedPlan(intent, [went(tool, ok=ok) for tool in tools], day)


def history(each: int = 12, *, tools: Sequence[str] = TOOLS, day: int = DAY) -> list[JoinedPlan]:
    """Plans that ask for each tool by two of its words and some that all have."""
    plans = []
    for tool in tools:
        words = WORDS[tool].split()
        for number in range(each):
            said = f"{words[number % 5]} {words[(number + 1) % 5]} household"
            plans.append(plan(said, tool, day=day))
    return plans


def counted(plans: Sequence[JoinedPlan]) -> State:
    """The counts of a history."""
    state = State()
    learn(state, plans)
    return state


def bound(plans: Sequence[JoinedPlan], *, entries: Sequence[str] = TOOLS) -> BoundPriors:
    """What a history teaches, on a catalog."""
    return bind_priors(make_prior_set(counted(plans)), entries)


def numbers_of(state: State) -> tuple[object, ...]:
    """All that was counted, without the numbers that tools happen to have, as of one fixed time."""
    unit = 2.0**state.octave if state.days else 1.0
    return (
        {(key >> 16, state.names[key & 0xFFFF]): weight * unit for key, weight in state.good.items()},
        {(key >> 16, state.names[key & 0xFFFF]): weight * unit for key, weight in state.bad.items()},
        {name: weight * unit for name, weight in zip(state.names, state.tool_good, strict=True)},
        {name: weight * unit for name, weight in zip(state.names, state.tool_bad, strict=True)},
        {day: weight * unit for day, weight in state.days.items()},
        state.plans,
    )


any_intent = st.lists(
    st.sampled_from([word for words in WORDS.values() for word in words.split()]), max_size=6
).map(" ".join)
any_plan = st.builds(
    JoinedPlan,
    intent=any_intent,
    tools=st.lists(st.builds(ToolOutcome, tool=st.sampled_from(TOOLS), ok=st.booleans()), max_size=4),
    day=st.integers(DAY - 80, DAY),
)
