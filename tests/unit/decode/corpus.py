# ruff: noqa: E501, RUF001 - a table; replies in several scripts, with the quotes that models write
"""Replies as models give them: each with the value that it holds, or the cause for which it holds none."""

from dataclasses import dataclass

from context.decode import DecodeCause, ReplyRepair

PLAN = {"steps": [{"order": 1, "tool": "blog.draft"}]}
PLAN_TEXT = '{"steps": [{"order": 1, "tool": "blog.draft"}]}'
SAY = '{"steps": [{"order": 1, "tool": "say", "args": {"text": "%s"}}]}'


def say(text: str) -> dict[str, object]:
    """A plan whose one step says a text."""
    return {"steps": [{"order": 1, "tool": "say", "args": {"text": text}}]}


@dataclass(frozen=True)
class Case:
    """A reply, and what is to come of it.

    Attributes:
        name: What is odd about it.
        reply: The reply.
        value: The plan in it; None where there is none.
        cause: Why there is none.
        repairs: What has to be put right.
        finish_reason: Why the model stopped.
    """

    name: str
    reply: str | None
    value: object = None
    cause: DecodeCause | None = None
    repairs: frozenset[ReplyRepair] = frozenset()
    finish_reason: str | None = None


def good(name: str, reply: str, value: object = PLAN, *repairs: ReplyRepair) -> Case:
    """A reply that holds a plan."""
    return Case(name, reply, value, None, frozenset(repairs))


def bad(name: str, reply: str | None, cause: DecodeCause, finish_reason: str | None = None) -> Case:
    """A reply that holds none."""
    return Case(name, reply, None, cause, frozenset(), finish_reason)


FENCED_CODE = "```py\\nprint('{')\\n```"

WHOLE = [
    good("plain", PLAN_TEXT),
    good("blank around it", f"\n\n  {PLAN_TEXT}\n"),
    good("byte order mark", f"\ufeff{PLAN_TEXT}"),
    good("zero-width space before it", f"\u200b{PLAN_TEXT}"),
    good("carriage returns", '{\r\n "steps": [\r\n {"order": 1,\r\n "tool": "blog.draft"}\r\n]\r\n}\r\n'),
    good("no steps is an answer", '{"steps": []}', {"steps": []}),
    good("written as JSON in a string", '"{\\"steps\\": []}"', {"steps": []}),
    good("in an object of its own", f'{{"plan": {PLAN_TEXT}}}'),
    good("in a list of its own", f"[{PLAN_TEXT}]"),
    good("a fence inside a string", SAY % FENCED_CODE, say("```py\nprint('{')\n```")),
    good("a brace inside a string", SAY % "} ] { [", say("} ] { [")),
    good("an escaped quote before a brace", SAY % '\\"}', say('"}')),
    good("a backslash at a string's end", SAY % "C:\\\\", say("C:\\")),
    good("thinking tags inside a string", SAY % "<think>a</think>b", say("<think>a</think>b")),
    good("a pair of surrogate escapes", SAY % "\\ud83d\\ude00 ok", say("😀 ok")),
    good("half a pair loses nothing else", SAY % "a \\ud83d b", say("a \ufffd b"), ReplyRepair.CLEANED),
    good("a NUL is taken out", SAY % "a\\u0000b", say("ab"), ReplyRepair.CLEANED),
    good("many scripts", SAY % "写博客 напиши مقال", say("写博客 напиши مقال")),
]

WRAPPED = [
    good("fence with a language", f"```json\n{PLAN_TEXT}\n```"),
    good("fence without a language", f"```\n{PLAN_TEXT}\n```"),
    good("fence of tildes", f"~~~json\n{PLAN_TEXT}\n~~~"),
    good("fence of four", f"````json\n{PLAN_TEXT}\n````"),
    good("fence that never closes", f"```json\n{PLAN_TEXT}"),
    good("fence on one line", f"```json {PLAN_TEXT} ```"),
    good("fence that is indented", f"  ```json\n  {PLAN_TEXT}\n  ```"),
    good("fence with words around it", f"Here is the plan:\n\n```json\n{PLAN_TEXT}\n```\nShall I go on?"),
    good(
        "fence around a fence in a string",
        f"```json\n{SAY % FENCED_CODE}\n```",
        say("```py\nprint('{')\n```"),
    ),
    good("fence after an example without one", f'Use {{"steps": []}} so:\n```json\n{PLAN_TEXT}\n```'),
    good("an example after the fence", f'```json\n{PLAN_TEXT}\n```\n(an empty one is {{"steps": []}})'),
    good("the language as a word", f"json\n{PLAN_TEXT}"),
    good("a tag around it", f"<answer>{PLAN_TEXT}</answer>"),
    good("a channel before it", f"<|channel|>final<|message|>{PLAN_TEXT}"),
    good("an assignment before it", f"const plan = {PLAN_TEXT};"),
    good("words before it", f"Sure! The plan is {PLAN_TEXT}"),
    good("words after it", f"{PLAN_TEXT}\nLet me know if you need more."),
    good("words in Chinese around it", f"计划如下：{PLAN_TEXT}。请确认。"),
    good("braces in the words", f"I fill {{intent}} and {{tools}} in: {PLAN_TEXT} {{done}}"),
    good("brackets in the words", f"As asked [1], see [the list] and [x]: {PLAN_TEXT} [2]"),
    good("a lone brace in the words", f"A plan opens with {{ and looks so: {PLAN_TEXT}"),
    good("a lone quote in the words", f'For 5" screens: {PLAN_TEXT}'),
    good("an apostrophe in the words", f"Here's what I'd do {{maybe}}: {PLAN_TEXT}"),
    good("another object before it", f'{{"note": "short"}}\n{PLAN_TEXT}'),
    good("a draft, then better", f'{{"steps": []}}\nNo, wait:\n{PLAN_TEXT}'),
    good("the same twice", f"{PLAN_TEXT}{PLAN_TEXT}"),
]

THINKING = [
    good("closed thinking", f"<think>Which tool?</think>{PLAN_TEXT}"),
    good("a draft in the thinking", f'<think>Perhaps {{"steps": []}}?</think>\n{PLAN_TEXT}'),
    good(
        "a better draft in the thinking",
        f'<thinking>\n{PLAN_TEXT}\n</thinking>\n{{"steps": []}}',
        {"steps": []},
    ),
    good("thinking without its start", f'so {{"steps": []}} will not do\n</think>\n{PLAN_TEXT}'),
    good("thinking that never ends, then the answer", f"<think>\nThe user wants a blog.\n{PLAN_TEXT}"),
    good("the same in a fence", f"<think>\nThe user wants a blog.\n```json\n{PLAN_TEXT}\n```"),
    good("two blocks of thinking", f"<think>a</think><think>b</think>{PLAN_TEXT}"),
    good("thinking after the answer", f"{PLAN_TEXT}\n<think>Was that right? {{"),
    good("thinking in capitals", f"<THINK>hm</THINK>{PLAN_TEXT}"),
    bad("a draft in thinking that never ends", f"<think>\n{PLAN_TEXT} or perhaps", DecodeCause.TRUNCATED),
    bad("only closed thinking", f"<think>{PLAN_TEXT}</think>", DecodeCause.EMPTY),
    bad("only open thinking", "<think>Well, the user", DecodeCause.TRUNCATED),
]

REPAIRED = [
    good("comma before a brace", '{"steps": [{"order": 1, "tool": "blog.draft",}]}', PLAN, ReplyRepair.TRAILING_COMMA),
    good("comma before a bracket", '{"steps": [{"order": 1, "tool": "blog.draft"},],}', PLAN, ReplyRepair.TRAILING_COMMA),
    good("single quotes", "{'steps': [{'order': 1, 'tool': 'blog.draft'}]}", PLAN, ReplyRepair.QUOTES),
    good("single quotes, apostrophe inside", "{'steps': [{'order': 1, 'tool': 'say', 'args': {'text': 'it's'}}]}", say("it's"), ReplyRepair.QUOTES, ReplyRepair.INNER_QUOTES),
    good("curly quotes", "{“steps”: [{“order”: 1, “tool”: “blog.draft”}]}", PLAN, ReplyRepair.QUOTES),
    good("Python's words", '{"steps": [{"order": 1, "tool": "a", "args": {"b": True, "c": None, "d": False}}]}', {"steps": [{"order": 1, "tool": "a", "args": {"b": True, "c": None, "d": False}}]}, ReplyRepair.LITERAL),
    good("undefined", '{"steps": [], "gap": undefined}', {"steps": [], "gap": None}, ReplyRepair.LITERAL),
    good("keys without quotes", '{steps: [{order: 1, tool: "blog.draft"}]}', PLAN, ReplyRepair.BARE_KEY),
    good("comments of two kinds", '{"steps": [ // the first\n {"order": 1, /* which */ "tool": "blog.draft"}]}', PLAN, ReplyRepair.COMMENT),
    good("comments with a hash", '{"steps": [{"order": 1, # first\n "tool": "blog.draft"}]}', PLAN, ReplyRepair.COMMENT),
    good("an address is no comment", '{"steps": [{"order": 1, "tool": "say", "args": {"text": "http://a.example/b"}},]}', say("http://a.example/b"), ReplyRepair.TRAILING_COMMA),
    good("a line break in a string", SAY % "one\ntwo", say("one\ntwo"), ReplyRepair.CONTROL_CHARACTER),
    good("a tab in a string", SAY % "one\ttwo", say("one\ttwo"), ReplyRepair.CONTROL_CHARACTER),
    good("a fence and line breaks in a string", f"```json\n{SAY}\n```" % "see\n```py\nx = {}\n```\nend", say("see\n```py\nx = {}\n```\nend"), ReplyRepair.CONTROL_CHARACTER),
    good("quotes inside a string", SAY % 'she said "go" twice', say('she said "go" twice'), ReplyRepair.INNER_QUOTES),
    good("an escape that JSON does not know", SAY % "\\d+ \\'x\\'", say("\\d+ 'x'"), ReplyRepair.ESCAPE),
    good("no comma between lines", '{"steps": [\n{"order": 1, "tool": "a"}\n{"order": 2, "tool": "b"}\n]}', {"steps": [{"order": 1, "tool": "a"}, {"order": 2, "tool": "b"}]}, ReplyRepair.MISSING_COMMA),
    good("a plus before a number", '{"steps": [{"order": +1, "tool": "blog.draft"}]}', PLAN, ReplyRepair.NUMBER),
    good("no number", '{"steps": [], "score": NaN}', {"steps": [], "score": None}, ReplyRepair.NON_FINITE),
    good("minus infinity", '{"steps": [], "score": -Infinity}', {"steps": [], "score": None}, ReplyRepair.NON_FINITE),
    good("a number beyond all bounds", '{"steps": [], "score": 1e999}', {"steps": [], "score": None}, ReplyRepair.NON_FINITE),
    good("a key twice, the last counts", f'{{"steps": [], {PLAN_TEXT[1:]}', PLAN, ReplyRepair.REPEATED_KEY),
    good("a key twice with the same value", '{"steps": [], "steps": []}', {"steps": []}),
    good("whole before repaired", f"{PLAN_TEXT}\n or loosely {{'steps': []}}"),
]  # fmt: skip

FAILURES = [
    bad("nothing", None, DecodeCause.EMPTY),
    bad("no characters", "", DecodeCause.EMPTY),
    bad("blank", " \n\t\ufeff ", DecodeCause.EMPTY),
    bad("an empty fence", "```json\n```", DecodeCause.EMPTY),
    bad("nothing, and it was cut off", "", DecodeCause.TRUNCATED, "length"),
    bad("prose", "I would draft the blog first and then illustrate it.", DecodeCause.MALFORMED),
    bad("another shape", '{"tools": ["blog.draft"], "why": "it fits"}', DecodeCause.MALFORMED),
    bad("null", "null", DecodeCause.MALFORMED),
    bad("a list of names", '["blog.draft"]', DecodeCause.MALFORMED),
    bad("a fragment is no answer", '{"steps": [{"order": 1 "tool": {"steps": []}}', DecodeCause.MALFORMED),
    bad("a part of what is broken", '{"order": 1, "plan": {"steps": []} "tool": {"steps": []}} ok', DecodeCause.MALFORMED),
    bad("an ellipsis stands for what is missing", '{"steps": [{"order": 1, "tool": "a"}, ...]}', DecodeCause.MALFORMED),
    bad("cut off in a list", '{"steps": [{"order": 1, "tool": "blog.draft"}', DecodeCause.TRUNCATED),
    bad("cut off in a string", '{"steps": [{"order": 1, "tool": "blog.dr', DecodeCause.TRUNCATED),
    bad("cut off in a key", '{"steps": [{"ord', DecodeCause.TRUNCATED),
    bad("cut off after a backslash", '{"steps": [{"order": 1, "tool": "a\\', DecodeCause.TRUNCATED),
    bad("cut off in a number", '{"steps": [{"order": 1', DecodeCause.TRUNCATED),
    bad("cut off in a word", '{"steps": [], "more": tru', DecodeCause.TRUNCATED),
    bad("cut off in a fence", '```json\n{"steps": [', DecodeCause.TRUNCATED),
    bad("cut off after a draft", '{"steps": []}\nBetter: {"steps": [{"order": 1,', DecodeCause.TRUNCATED),
    bad("cut off with something whole inside", '{"plan": {"steps": []}, "then": {"steps": [', DecodeCause.TRUNCATED),
    bad("prose that was cut off", "First I would", DecodeCause.TRUNCATED, "max_tokens"),
    bad("filtered", "", DecodeCause.SAFETY, "content_filter"),
    bad("filtered with a value", PLAN_TEXT, DecodeCause.SAFETY, "SAFETY"),
    bad("declined", "I'm sorry, but I can't help with that.", DecodeCause.SAFETY),
    bad("declined in Chinese", "抱歉，我无法完成这个请求。", DecodeCause.SAFETY),
    bad("declined as JSON", '{"refusal": "I cannot plan this."}', DecodeCause.SAFETY),
    bad("nested too deeply", '{"steps": ' + "[" * 500 + "]" * 500 + "}", DecodeCause.MALFORMED),
    bad("nested beyond the reader", '{"steps": ' + "[" * 100_000, DecodeCause.MALFORMED),
    bad("an integer of thousands of digits", f'{{"steps": [], "n": {"9" * 5_000}}}', DecodeCause.MALFORMED),
    bad("an error page", "<!doctype html><html><body>502</body></html>", DecodeCause.MALFORMED),
]  # fmt: skip

CASES = [*WHOLE, *WRAPPED, *THINKING, *REPAIRED, *FAILURES]
