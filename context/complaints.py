"""Instructions to the writer of a second draft: the reason for the refusal, and the words concerned."""

from collections.abc import Sequence

from context.clip import one_line
from context.gate import Reason
from context.wrappers import escape_tags

_MOST, _CHARS = 12, 120

_WHY = {
    Reason.MADE_UP: "it said what neither the transcript nor the previous notes say. Leave this out",
    Reason.CLAIMS_WITHOUT_EVIDENCE: "it claimed as done what no message shows. Leave out or call open",
    Reason.IDENTIFIERS_LOST: "it left out names. Say what the transcript says of these",
    Reason.RULES_LOST: "it left out rules that people stated. Quote these",
    Reason.FIRST_PERSON: "it spoke as one of the speakers. Write about them, in the third person",
    Reason.ANSWER_TEXT: "it answered the speakers. Write down what they said and did, and ask nothing",
    Reason.TOOL_CALL_TEXT: "it called a tool. Write down which calls were made, and make none",
    Reason.TRANSCRIPT_TEXT: "it made up lines of the conversation. Write points under the headings",
    Reason.PROMPT_ECHO: "it repeated the instructions. Write what the transcript says",
    Reason.NO_HEADINGS: "it had no headings. Write points under the headings",
    Reason.EMPTY_SKELETON: "it said next to nothing. Write what the transcript says",
    Reason.WRONG_LANGUAGE: "it was in another language than was asked for",
    Reason.REFUSAL: "it declined. The transcript is a record, and only notes on it are asked for",
    Reason.ERROR_TEXT: "it was an error's text",
}


def complain(reason: Reason | None, told: Sequence[str] = ()) -> str:
    """Tell a summarizer why its draft was refused.

    Args:
        reason: The gate's reason.
        told: The words concerned, such as lost names: text of the conversation, disarmed here.

    Returns:
        A sentence or two; "" if the reason is length alone.
    """
    why = _WHY.get(reason) if reason is not None else None
    if why is None:
        return ""
    listed = "; ".join(one_line(escape_tags(word), _CHARS) for word in told[:_MOST])
    return f"A draft before this one was refused: {why}{': ' + listed if listed else ''}."
