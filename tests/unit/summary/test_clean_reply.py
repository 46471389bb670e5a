# ruff: noqa: RUF001 - replies in several scripts
"""Model replies: what is taken off, and what is no answer."""

import json

import pytest
from hypothesis import given
from hypothesis import strategies as st

from context.summary.clean_reply import ReplyFault, clean_reply
from context.text.tags import strip_thinking
from tests.data import data_dir, read_jsonl
from tests.unit.linear.growth import grows_in_proportion
from tests.unit.linear.texts import Shape

NOTES = "## Objective\n- [1] Ana: ship the importer\n\n## Open work\n- [4] Ana: the retry is missing"


@pytest.mark.parametrize(
    "wrapped",
    [
        NOTES,
        f"  \n{NOTES}\n\n",
        f"<think>The user wants notes.</think>\n{NOTES}",
        f"<thinking>\nlong\n</thinking>\n\n{NOTES}",
        f"so I should write notes\n</think>\n{NOTES}",
        f"{NOTES}\n<think>Did I miss something? I will never",
        f"```markdown\n{NOTES}\n```",
        f"```\n{NOTES}\n```",
        f"~~~\n{NOTES}\n~~~",
        f"```markdown\n{NOTES}",
        f"Here is the summary:\n\n{NOTES}",
        f"Here’s the updated checkpoint for messages 1 to 9:\n{NOTES}",
        f"Sure! Here are the notes:\n\n{NOTES}",
        f"Hier ist die Zusammenfassung:\n{NOTES}",
        f"以下是摘要：\n{NOTES}",
        f"<summary>\n{NOTES}\n</summary>",
        f"<think>x</think>Here is the summary:\n```\n{NOTES}\n```",
        f"<|channel|>analysis<|message|>thinking<|channel|>final<|message|>{NOTES}",
    ],
)
def test_wrapping_is_taken_off(wrapped: str) -> None:
    reply = clean_reply(wrapped)
    assert reply.fault is None
    assert reply.text == NOTES


def test_a_fence_inside_the_notes_stays() -> None:
    notes = f"{NOTES}\n\n```sh\nmake demo\n```"
    assert clean_reply(notes).text == notes


def test_notes_that_begin_and_end_with_fences_of_their_own_stay() -> None:
    notes = "```sh\nmake demo\n```\nran the demo; then\n```sh\nmake test\n```"
    assert clean_reply(notes).text == notes


def test_notes_about_thinking_tags_stay_whole() -> None:
    notes = f"{NOTES}\n- [5] Ben: strip `<think>` and `</think>` from replies\n- [6] Ana: agreed"
    assert clean_reply(notes).text == notes


FAULTY = [
    ("", ReplyFault.EMPTY),
    (" \n\t", ReplyFault.EMPTY),
    ("...", ReplyFault.EMPTY),
    ("{}", ReplyFault.EMPTY),
    ("<think>only this</think>", ReplyFault.REASONING_TEXT),
    ("<think>I never stop thinking about", ReplyFault.REASONING_TEXT),
    ("Okay, the user wants me to summarize. First I should list the files", ReplyFault.REASONING_TEXT),
    ("Let me think about what matters in this conversation.", ReplyFault.REASONING_TEXT),
    (
        "The user wants me to write notes of messages 1 to 40, so I go through them.",
        ReplyFault.REASONING_TEXT,
    ),
    ("I'm sorry, but I can't help with that.", ReplyFault.REFUSAL),
    ("I cannot summarize this content.", ReplyFault.REFUSAL),
    ("I’m unable to assist with this request.", ReplyFault.REFUSAL),
    ("As an AI language model, I do not have", ReplyFault.REFUSAL),
    ("Could you please provide the conversation you want summarized?", ReplyFault.REFUSAL),
    ("There is no conversation to summarize yet.", ReplyFault.REFUSAL),
    ("Hello! How can I help you today?", ReplyFault.REFUSAL),
    ("Es tut mir leid, dabei kann ich nicht helfen.", ReplyFault.REFUSAL),
    ("Je suis désolé, mais je ne peux pas répondre.", ReplyFault.REFUSAL),
    ("Lo siento, pero no puedo ayudarte con eso.", ReplyFault.REFUSAL),
    ("Desculpe, não posso ajudar com isso.", ReplyFault.REFUSAL),
    ("Mi dispiace, ma non posso aiutarti.", ReplyFault.REFUSAL),
    ("К сожалению, я не могу выполнить эту просьбу.", ReplyFault.REFUSAL),
    ("Пожалуйста, предоставьте текст беседы.", ReplyFault.REFUSAL),
    ("抱歉，我无法协助处理这个请求。", ReplyFault.REFUSAL),
    ("请提供对话内容，以便我总结。", ReplyFault.REFUSAL),
    ("申し訳ありませんが、お手伝いできません。", ReplyFault.REFUSAL),
    ("죄송하지만 도와드릴 수 없습니다.", ReplyFault.REFUSAL),
    ("عذرًا، لا أستطيع المساعدة في ذلك.", ReplyFault.REFUSAL),
    ("אני מצטער, איני יכול לעזור.", ReplyFault.REFUSAL),
    ("मुझे खेद है, मैं मदद नहीं कर सकता।", ReplyFault.REFUSAL),
    ("Error: 429 Too Many Requests", ReplyFault.ERROR_TEXT),
    ("litellm.RateLimitError: RateLimitError: OpenAIException", ReplyFault.ERROR_TEXT),
    ("Error code: 400 - {'error': {'message': 'context'}}", ReplyFault.ERROR_TEXT),
    ('Traceback (most recent call last):\n  File "a.py", line 1', ReplyFault.ERROR_TEXT),
    ('{"error": {"message": "overloaded", "type": "overloaded_error"}}', ReplyFault.ERROR_TEXT),
    ("503 Service Unavailable", ReplyFault.ERROR_TEXT),
    ("<html><head><title>502 Bad Gateway</title>", ReplyFault.ERROR_TEXT),
    ("An unexpected error occurred. Please try again later.", ReplyFault.ERROR_TEXT),
    ("ConnectionError: failed to connect", ReplyFault.ERROR_TEXT),
    ("This model's maximum context length is 8192 tokens.", ReplyFault.ERROR_TEXT),
    ('{"name": "read_file", "arguments": {"path": "a.py"}}', ReplyFault.TOOL_CALL_TEXT),
    ('[{"name": "read_file", "parameters": {}}]', ReplyFault.TOOL_CALL_TEXT),
    ('<tool_call>\n{"name": "read"}\n</tool_call>', ReplyFault.TOOL_CALL_TEXT),
    ('<function_calls><invoke name="read">', ReplyFault.TOOL_CALL_TEXT),
    ("read_file(path='a.py')", ReplyFault.TOOL_CALL_TEXT),
    ("[TOOL_CALLS] read_file", ReplyFault.TOOL_CALL_TEXT),
    ("<｜tool▁calls▁begin｜>function", ReplyFault.TOOL_CALL_TEXT),
    ('```json\n{"tool_calls": [{"id": "c"}]}\n```', ReplyFault.TOOL_CALL_TEXT),
]


@pytest.mark.parametrize(("raw", "fault"), FAULTY)
def test_what_is_no_answer_is_told(raw: str, fault: ReplyFault) -> None:
    assert clean_reply(raw).fault is fault


@pytest.mark.parametrize(
    "heading",
    ["# Error", "## Summary\n", "**Summary**\n", "Summary\n===", "## Objective\n- None\n\n## Open work"],
)
@pytest.mark.parametrize(
    ("raw", "fault"),
    [(raw, fault) for raw, fault in FAULTY if fault is not ReplyFault.EMPTY and raw[:6] != "<think"],
)
def test_a_heading_makes_no_answer_of_what_is_none(heading: str, raw: str, fault: ReplyFault) -> None:
    assert clean_reply(f"{heading}\n{raw}").fault is fault


@pytest.mark.parametrize(
    ("raw", "fault"),
    [(raw, fault) for raw, fault in FAULTY if fault is ReplyFault.REFUSAL and not raw.startswith("<")],
)
def test_a_refusal_as_the_points_of_a_section_is_no_answer(raw: str, fault: ReplyFault) -> None:
    assert clean_reply(f"## Objective\n- {raw}\n\n## Open work\n- {raw}").fault is fault


@pytest.mark.parametrize(
    ("added", "fault"),
    [
        ("\n\n## Work done\nI'm sorry, but I can't help with that.", ReplyFault.REFUSAL),
        ("\n\nLet me think about what else matters.", ReplyFault.REASONING_TEXT),
        ("\n\n## Work done\n<tool_call>{}</tool_call>", ReplyFault.TOOL_CALL_TEXT),
        ('\n\n## Work done\n```json\n{"name": "read", "arguments": {}}\n```', ReplyFault.TOOL_CALL_TEXT),
        ('\n\n## Work done\n{"error": {"message": "overloaded"}}', ReplyFault.ERROR_TEXT),
    ],
)
def test_one_section_that_is_no_answer_spoils_the_notes(added: str, fault: ReplyFault) -> None:
    assert clean_reply(NOTES + added).fault is fault


@pytest.mark.parametrize(
    "form", ["# {}", "**{}**", "## Summary\n**Note:** {}", "## Notes\n> {}", "## Notes\n1. {}"]
)
def test_a_refusal_is_one_in_any_dress(form: str) -> None:
    assert clean_reply(form.format("I'm sorry, but I can't help with that")).fault is ReplyFault.REFUSAL


def test_no_reply_at_all_is_empty() -> None:
    assert clean_reply(None).fault is ReplyFault.EMPTY


@pytest.mark.parametrize(
    "notes",
    [
        NOTES,
        "Ana asked for an importer. The upload failed with Error: 429 Too Many Requests and was retried.",
        "The user reported `TypeError: x is not a function` in app.ts; the assistant fixed it in message 12.",
        "- Error handling: every failure is retried twice\n- The API key is rotated weekly",
        "Ben refused the offer: \"I'm sorry, but I can't pay that.\" Ana lowered the price to $40.",
        "## Work done\n- Called `<tool_call>` parsing broken and fixed it [12]",
        "Okafor (user) wants a refund of $40 for order A-17.",
        "Let's Encrypt certificates were chosen for example.org.",
        "The user wants a flight from New York to Seattle on May 20 and pays with certificate 7447.",
        "Unauthorised access to the vault was discussed; Ana owns the report.",
        "目标：为上传添加重试。Ana 要求不要发送两次。",
        "Цель: добавить повторную попытку. Ана просит не отправлять дважды.",
        "Sorry was said twice; the refund of 40 EUR is open.",
        "## Objective\n- [1] user: Please provide the conversation export as CSV",
        "## Objective\n- Ana: please provide the export as CSV\n- Ben: retry it",
        "## Objective\n- Error: 429 on upload is to be fixed\n\n## Open work\n- a retry\n- a report",
        "## Objective\nInternal server error at checkout is to be fixed.\n\n## Open work\n- ask\n- tell",
        "## Work done\n- <tool_call> parsing was fixed in the reader",
        "## Work done\n- fixed the reader\n\n```xml\n<tool_call>{}</tool_call>\n```",
        "## Work done\n- \"I'm sorry, but I can't\" was the answer",
        "## Constraints in force\n- I will not pay more than $40 [3]\n- I can't do Tuesdays [4]",
        '## Artifacts and exact identifiers\n- rows\n\n## Notes\n{"port": 8080}',
        "## Objective\n- ship it\n\n## Work done\n- `read_file(path='a.py')` was called [3]",
    ],
)
def test_real_notes_are_no_fault(notes: str) -> None:
    reply = clean_reply(notes)
    assert reply.fault is None
    assert reply.text == notes


@given(st.text(max_size=300))
def test_cleaning_twice_changes_nothing_more(raw: str) -> None:
    once = clean_reply(raw)
    assert once.fault or clean_reply(once.text).text == once.text


@given(st.text(max_size=200))
def test_no_thinking_survives(text: str) -> None:
    assert "SECRET" not in strip_thinking(f"{text}\n<think>SECRET</think>\nend")


LONG = ("<think>", "</think>", "```\n", "Error ", "<", "a(", "error.", "here is ", "[[", "x.y")


@pytest.mark.parametrize("unit", [*LONG, "# a\n“", "# a\n```b\n", "# a\n- b"])
def test_no_reply_takes_long(unit: str) -> None:
    assert grows_in_proportion(clean_reply, Shape(unit).text)


@pytest.mark.data
def test_recorded_provider_errors_are_never_content() -> None:
    records = read_jsonl(data_dir("token_truth") / "provider_errors.jsonl")
    texts = [json.dumps(record["error"]) for record in records if isinstance(record["error"], dict)]
    assert len(texts) > 10
    assert all(clean_reply(text).fault for text in texts)
