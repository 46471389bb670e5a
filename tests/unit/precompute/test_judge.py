"""What may be kept as a summary of an artifact, and why the rest may not."""

import pytest

from context.precompute.prompt import ArtifactDraft, ArtifactReason, judge_artifact_summary

SOURCE = (
    "Invoice INV-2041 of 2026-03-14 over 1,250.00 EUR is open. Invoice INV-2042 over 310.50 EUR was paid on "
    "2026-04-02. The reminder fee is 15.75 EUR."
)
GOOD = "- Invoice INV-2041 over 1,250.00 EUR is open.\n- INV-2042 over 310.50 EUR was paid on 2026-04-02."


def judge(
    text: str, *, finish: str | None = "stop", tokens: int = 40, language: str = "en"
) -> ArtifactReason | None:
    draft = ArtifactDraft(text, tokens, finish)
    return judge_artifact_summary(draft, source=SOURCE, artifact_tokens=400, language=language).reason


def test_facts_of_the_source_are_kept() -> None:
    assert judge(GOOD) is None


@pytest.mark.parametrize(
    ("text", "reason"),
    [
        ("", ArtifactReason.EMPTY),
        ("- ok", ArtifactReason.EMPTY),
        ("I'm sorry, but I can't help with that request.", ArtifactReason.REFUSAL),
        ("Error: 500 Internal Server Error. Please try again later.", ArtifactReason.ERROR_TEXT),
        ("<think>The user wants invoices. First the open ones", ArtifactReason.REASONING_TEXT),
        (
            '<tool_call>{"name": "read_file", "arguments": {"path": "a.md"}}</tool_call>',
            ArtifactReason.TOOL_CALL_TEXT,
        ),
        ("- INV-9001 over 77,000.00 EUR is open since 2019-01-05, see INV-9002.", ArtifactReason.MADE_UP),
        (
            "- 請求書は未払いです。支払期限は過ぎています。担当者に確認してください。",
            ArtifactReason.WRONG_LANGUAGE,
        ),
    ],
)
def test_what_is_no_summary_is_refused_for_its_reason(text: str, reason: ArtifactReason) -> None:
    assert judge(text) is reason


def test_an_answer_that_was_cut_off_is_refused() -> None:
    assert judge(GOOD, finish="length") is ArtifactReason.CUT_OFF


@pytest.mark.parametrize(("tokens", "reason"), [(200, None), (201, ArtifactReason.NOT_SMALLER)])
def test_a_summary_is_at_most_half_of_its_artifact(tokens: int, reason: ArtifactReason | None) -> None:
    assert judge(GOOD, tokens=tokens) is reason


def test_a_fence_around_the_whole_is_taken_off() -> None:
    draft = ArtifactDraft(f"```\n{GOOD}\n```", 40, "stop")
    assert judge_artifact_summary(draft, source=SOURCE, artifact_tokens=400).text == GOOD
