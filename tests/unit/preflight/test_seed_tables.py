"""The four tables that preflight was built from, row by row, with the numbers written out."""

import pytest

from context.preflight.config import PreflightRules
from context.preflight.decide import classify, decide
from context.preflight.types import Category, Evidence, MemoryParams

ALL = (
    *("exec", "read", "write", "edit", "apply_patch", "process", "message"),
    *("web_fetch", "web_search", "memory_search", "memory_get", "browser", "canvas", "cron"),
)
ROWS = {
    # category: what is kept of ALL, facts, tokens, thinking, and how the hint begins
    "casual": ({"message"}, 0, 0, "off"),
    "research": ({"exec", "web_fetch", "web_search", "message", "read"}, 10, 400, "low"),
    "coding": (
        {"exec", "read", "write", "edit", "apply_patch", "process", "message"},
        *(5, 200, "medium"),
    ),
    "crypto": ({"exec", "message", "web_fetch", "web_search"}, 8, 300, "medium"),
    "media": ({"exec", "message"}, 3, 150, "off"),
    "monitoring": ({"exec", "message"}, 3, 150, "off"),
    "memory": ({"memory_search", "memory_get", "message"}, 25, 1000, "low"),
    "complex": (set(ALL), 15, 500, "high"),
    "none": (set(ALL), 15, 500, "low"),
}
SIGN = {
    # one sign that is this category and no other
    "casual": "casual.greeting",
    "research": "ask.explain",
    "coding": "code.strong",
    "crypto": "coin.name",
    "media": "media.verb",
    "monitoring": "ops.metric",
    "memory": "mem.recall",
    "complex": "shape.long",
    "none": "talk.nothing",
}


@pytest.mark.parametrize("row", ROWS)
def test_each_row_has_its_tools_memory_thinking_and_hint(row: str) -> None:
    kept, facts, tokens, thinking = ROWS[row]
    found = decide(Evidence({SIGN[row]: 1}), previous=None, tools=ALL, pinned=(), config=PreflightRules())
    assert [str(name) for name in found.categories] == ([row] if row != "none" else [])
    assert set(ALL if found.tool_allowlist is None else found.tool_allowlist) == kept
    assert found.memory == MemoryParams(facts, tokens)
    assert found.thinking_level == thinking
    task, names = "general" if row == "none" else row, [name for name in ALL if name in kept]
    told = "all" if len(kept) == len(ALL) else ", ".join(names)
    assert found.hint == f"[Context: {task} task | tools: {told} | thinking: {thinking}]"


@pytest.mark.parametrize(
    ("rows", "kept", "facts", "tokens", "thinking"),
    [
        (("research", "crypto"), {"exec", "web_fetch", "web_search", "message", "read"}, 10, 400, "medium"),
        (("media", "memory"), {"exec", "message", "memory_search", "memory_get"}, 25, 1000, "low"),
        (("coding", "complex"), set(ALL), 15, 500, "high"),
        (("casual", "monitoring"), {"exec", "message"}, 3, 150, "off"),
    ],
)
def test_of_several_rows_the_union_the_widest_and_the_highest_hold(
    rows: tuple[str, ...], kept: set[str], facts: int, tokens: int, thinking: str
) -> None:
    evidence = Evidence({SIGN[row]: 1 for row in rows})
    found = decide(evidence, previous=None, tools=ALL, pinned=(), config=PreflightRules())
    assert [str(name) for name in found.categories] == list(rows)
    assert set(ALL if found.tool_allowlist is None else found.tool_allowlist) == kept
    assert found.memory == MemoryParams(facts, tokens)
    assert found.thinking_level == thinking


CUES = {
    "casual": [
        *("hello there", "good morning!", "nice one", "\U0001f44d\U0001f389", "how are you?", "hey", "yo"),
        *("sup", "thanks a lot", "cool"),
    ],
    "research": [
        *("search for cheap flights to Rome", "find a good bakery in Lyon", "look up the opening hours"),
        *(
            "what is photosynthesis",
            "who is Ada Lovelace",
            "explain how tides work",
            "compare tea and coffee",
        ),
        *("https://example.org/news", "is coffee healthy?", "how do magnets work", "why is the sky blue"),
        "when does spring begin",
    ],
    "coding": [
        *("look at src/main.py", "open config.yaml", "review this code", "fix it", "fix this please"),
        *("debug the parser", "this function is too slow", "I get an error", "there is a bug"),
        *(
            "```\nprint(1)\n```",
            "commit the changes",
            "commit my work",
            "run the test suite",
            "run the tests",
        ),
        *(
            "TypeError: x is undefined",
            "build the project",
            "build it",
            "deploy the app",
            "deploy to staging",
        ),
    ],
    "crypto": [
        *("I sent $50", "buy some sol", "how much is eth", "btc to the moon", "swap my coins"),
        *("check my wallet", "mint a token", "stake my tokens", "stake it all", "explain defi yields"),
        *("sell my nft", "mint an nft", "my balance", "show my token balance", "transfer 2 coins to Bob"),
        *("bridge to polygon", "is solana down", "ethereum gas fees"),
    ],
    "media": [
        *("make an image of a cat", "show me a picture of a fox", "edit this photo", "draw a house"),
        *("generate a song", "speak this aloud", "say it out loud", "transcribe the interview"),
        *("listen to this", "listen to this recording", "use a female voice", "change the voice"),
    ],
    "monitoring": [
        *("status", "status of the server", "is the server health ok", "health check", "gpu load"),
        *("how much vram is free", "which services are running", "list the services", "cpu temperature"),
        *("are the services up?", "is the server healthy", "show the restart count"),
        *(
            "is nginx up?",
            "is the database down?",
            "memory usage",
            "disk space left",
            "is the disk full",
            "cpu usage",
            "uptime of the host",
        ),
    ],
    "memory": [
        *("do you remember my dog's name", "remember that I like tea", "recall our plan"),
        *("what was it last time", "you said it was blue", "we discussed the budget"),
        *("what did I tell you earlier", "what did we do yesterday", "what did I ask before"),
        *("as I mentioned earlier", "we talked about it before"),
    ],
    "complex": [
        *(
            "x " * 160,
            "Do it step by step",
            "explain it step by step",
            "open the file and then send it to Bob",
        ),
        *("make coffee and then call me", "first read the log, then restart", "Who? What? When?"),
        "First book the flight and after the trip then write to Ann",
        "1. book a room\n2. invite the team\n3. send the agenda",
        *("plan my trip to Japan", "make a plan for the launch", "plan the migration"),
        *("analyze our sales data", "analyze this", "please analyse the results"),
        "Book a room. Invite the team. Send the agenda.",
        *("find the five best laptops and tell me the prices", "compare both offers, and send them to Ann"),
        *("start by reading the log, then restart it", "walk me through it step by step"),
        *("show the newest posts across all feeds", "map out a route along the coast"),
    ],
}


@pytest.mark.parametrize(
    ("row", "message"), [(row, message) for row, messages in CUES.items() for message in messages]
)
def test_a_message_for_each_cue_lands_in_its_category(row: str, message: str) -> None:
    assert Category(row) in classify(message).categories


@pytest.mark.parametrize(
    ("name", "row"),
    [("image/png", "media"), ("audio/mpeg", "media"), ("photo.jpg", "media"), ("speech.wav", "media")],
)
def test_an_attached_image_or_recording_is_media(name: str, row: str) -> None:
    assert Category(row) in classify("here you are", attachments=[name]).categories


@pytest.mark.parametrize(
    "message",
    [
        *("find and fix it", "what is the first law of motion", "tell me about tea and coffee"),
        *("show me the way and the time", "who wrote it and when"),
    ],
)
def test_one_command_is_no_task_of_several_steps(message: str) -> None:
    assert Category.COMPLEX not in classify(message).categories
