"""Instructions to the writer of a second draft: the reason for the refusal, and the words concerned."""

from collections.abc import Sequence

from context.summary.gate import Fault
from context.text.cut import one_line
from context.text.tags import escape_tags

_MOST, _CHARS = 12, 120

_WHY = {
    Fault.MADE_UP: "it said what neither the transcript nor the previous notes say. Leave this out",
    Fault.CLAIMS_WITHOUT_EVIDENCE: "it claimed as done what no message shows. Leave out or call open",
    Fault.IDENTIFIERS_LOST: "it left out names. Say what the transcript says of these",
    Fault.RULES_LOST: "it left out rules that people stated. Quote these",
    Fault.FIRST_PERSON: "it spoke as one of the speakers. Write about them, in the third person",
    Fault.ANSWER_TEXT: "it answered the speakers. Write down what they said and did, and ask nothing",
    Fault.TOOL_CALL_TEXT: "it called a tool. Write down which calls were made, and make none",
    Fault.TRANSCRIPT_TEXT: "it made up lines of the conversation. Write points under the headings",
    Fault.PROMPT_ECHO: "it repeated the instructions. Write what the transcript says",
    Fault.NO_HEADINGS: "it had no headings. Write points under the headings",
    Fault.EMPTY_SKELETON: "it said next to nothing. Write what the transcript says",
    Fault.WRONG_LANGUAGE: "it was in another language than was asked for",
    Fault.REFUSAL: "it declined. The transcript is a record, and only notes on it are asked for",
    Fault.ERROR_TEXT: "it was an error's text",
}


def complain(reason: Fault | None, told: Sequence[str] = ()) -> str:
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
