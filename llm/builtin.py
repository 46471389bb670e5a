"""The built-in model: answers from values instead of a prompt; at once, and free."""

from decimal import Decimal
from uuid import uuid4

from context.extract import PassageIndex, extract
from context.precompute.prompt import ArtifactInput
from context.summary.extractive import summarize as extractive
from context.tokens.text import count_text
from llm.requests import CompletionReply, CompletionRequest, Usage
from llm.settings import EXTRACTIVE


def answer(request: CompletionRequest) -> str | None:
    """Answer a question given as values; returns None for a kind of question unknown to the model.

    Args:
        request: The question.

    Returns:
        The words; blank with nothing to say.
    """
    if request.summary_input is not None:
        return extractive.summarize(request.summary_input, count=count_text)
    if request.artifact_input is not None:
        return _read(request.artifact_input)
    return None


def _read(asked: ArtifactInput) -> str:
    """Extract the passages of an artifact relevant to the focus, word for word."""
    index = asked.index or PassageIndex.build(asked.text, asked.kind)
    return extract(asked.text, index, asked.focus, budget_tokens=asked.budget_tokens, count=count_text).text


def complete_builtin(request: CompletionRequest) -> CompletionReply:
    """Answer with the built-in model for any requested model; free, so without a row in the ledger.

    Args:
        request: A question given as values.

    Returns:
        The words; blank with nothing to say.
    """
    text = answer(request) or ""
    return CompletionReply(uuid4(), text, "stop", Usage(), EXTRACTIVE, EXTRACTIVE, Decimal(0), 0.0)
