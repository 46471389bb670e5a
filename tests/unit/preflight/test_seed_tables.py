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


MORE = {
    "casual": (
        "morning! | hello bot | greetings friend | hiya mate | no worries | all good | got it | my bad | "
        "wow | that's great | heyyy | hey bot! | Hey man | yo dude | yooo | sup bro | many thanks | thx man "
        "| cheers mate | np | gg | hmm | howdy partner | hey there! | hi chat | hiii | thanks, you rock | "
        "bye for now | how's it going? | whats up man | yo yo | cool cool | i'm back | nice to meet you | "
        "lmao | yup | have a nice weekend | 😎🔥 | alright then | not bad"
    ),
    "research": (
        "look it up online | https://en.wikipedia.org/wiki/Otter | search for a plumber | find out who owns "
        "this company | look up Anna Karenina | what is inflation targeting | who is the pope | explain "
        "photosynthesis | compare tesla and byd | https://news.ycombinator.com | is it going to rain? | "
        "where is Bhutan | why did Rome fall | when does the store close"
    ),
    "coding": (
        "can you fix the login page | I need this fixed | why this error | error 500 when I click save | "
        "test the login flow | rebuild it | why did the build fail | redeploy please | when was the last "
        "deploy | src/app/index.tsx | what is in build.gradle | show me .env.local | review my code please "
        "| refactor the code | fix it please | debug the crash | write a function for primes | an error "
        "occurred | weird bug here | commit these files | test the parser | run test | build failed again | "
        "deploy failed"
    ),
    "crypto": (
        "token price of JUP | is this token a rug | where can I stake atom | restake the rewards | when is "
        "the mint | balance? | show balances | did the transfer go through | send it over optimism | cosmos "
        "validators | lend $10 to Tom | $DOGE to the moon | sol or eth? | how is btc doing | swap eth to "
        "dai | fund my wallet | new token launch | approve the token | stop my stake | risk of defi | nft "
        "royalties | mint an edition | balance of the account | transfer failed | gas on ethereum | solana "
        "outage | cardano news"
    ),
    "media": (
        "describe the image | generate a jingle | speak to me in French | say hello in a robot tone | say "
        "good night to the kids | listen to my voicemail | have a listen | which voice is that | make me an "
        "image | image quality is bad | a picture for my blog | this photo is dark | draw two cats | "
        "generate something cute | speak up | say cheese | say it like a pirate | transcribe the call | "
        "listen again | voice over for the ad | voice please"
    ),
    "monitoring": (
        "is everything healthy | which services failed | is the temperature ok | how much memory is used | "
        "current status | status page | health of the node | how healthy is the system | gpu memory | vram "
        "full | services down | all services ok? | temperature alarm | memory footprint of redis | low "
        "memory | disk is full | disk health | cpu per core | uptime of db | uptime percent"
    ),
    "memory": (
        "the number from earlier | the recipe from earlier please | continue from yesterday | yesterday's "
        "notes | the list from yesterday | same as before | remember that I am vegan | remember this number "
        "| recall my address | what was it last time | didn't you said 5 | we discussed pricing | earlier "
        "you said | earlier today I sent a file | yesterday I told you | what happened yesterday | you did "
        "it before | did I order this before"
    ),
    "complex": (
        "Book a table. Call Ann. | do this step by step: cake | get the data and then plot it | first boil, "
        "then peel | first of all call Bob, then Ann | What? Really? Why? | make a plan | plan my week | "
        "analyze it | analyze sales by region | Open the door. Get the bag. Come back. | My flight is late. "
        "Please rebook the hotel."
    ),
}
"""Of the same cues, in other words, apart by `|`."""


@pytest.mark.parametrize(
    ("row", "message"),
    [
        *((row, message) for row, messages in CUES.items() for message in messages),
        *((row, message) for row, messages in MORE.items() for message in messages.split(" | ")),
    ],
)
def test_a_message_for_each_cue_lands_in_its_category(row: str, message: str) -> None:
    assert Category(row) in classify(message).categories


@pytest.mark.parametrize(
    ("name", "row"),
    [
        *((name, "media") for name in ("image/png", "audio/mpeg", "video/mp4", "photo.jpg", "speech.wav")),
        *((name, "media") for name in ("scan.TIFF", "selfie.heic", "note.m4a", "track.flac", "clip.webm")),
        *((name, "research") for name in ("offer.pdf", "text/csv", "notes.docx")),
    ],
)
def test_an_attached_image_or_recording_is_media(name: str, row: str) -> None:
    assert Category(row) in classify("here you are", attachments=[name]).categories


@pytest.mark.parametrize(
    "message",
    [
        *("find and fix it", "what is the first law of motion", "tell me about tea and coffee"),
        *("show me the way and the time", "who wrote it and when", "Thanks. What is a monad?"),
        *("I like trains. Which one is the fastest?", "See chapter 2. What does it say?"),
    ],
)
def test_one_command_is_no_task_of_several_steps(message: str) -> None:
    assert Category.COMPLEX not in classify(message).categories


@pytest.mark.parametrize(
    "message",
    [
        "Read the file. Fix the typo.",
        "My flight is late. Please rebook the hotel.",
        "We are moving to Oslo in May. Can you find a flat?",
        "a) read it b) rate it c) file it",
        "Step 1: read it Step 2: rate it",
    ],
)
def test_two_orders_or_a_situation_and_a_wish_are_a_task_of_several_steps(message: str) -> None:
    assert Category.COMPLEX in classify(message).categories


@pytest.mark.parametrize(
    ("message", "row"),
    [
        ("hey kubernetes", "casual"),
        ("thanks, deploy", "casual"),
        ("hi, weather?", "casual"),
        ("splendid", "casual"),
        ("sounds good", "media"),
        ("hello bot", "coding"),
        ("what is this tool", "media"),
    ],
)
def test_a_word_of_another_subject_is_no_address_and_an_idiom_no_subject(message: str, row: str) -> None:
    assert Category(row) not in classify(message).categories


def test_a_cue_beside_a_recognized_category_widens_tools_and_removes_none() -> None:
    plain = classify("why did it happen", tools=ALL)
    wider = classify("why did the build happen", tools=ALL)
    assert [str(name) for name in wider.categories] == ["research", "coding"]
    assert plain.tool_allowlist is not None
    assert wider.tool_allowlist is not None
    assert set(wider.tool_allowlist) - set(plain.tool_allowlist) == {
        "write",
        "edit",
        "apply_patch",
        "process",
    }
    assert wider.memory == MemoryParams(10, 400)
    assert wider.thinking_level == "medium"
