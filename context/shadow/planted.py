"""Small conversation with known facts, and questions about the facts."""

from dataclasses import dataclass


@dataclass(frozen=True)
class Planted:
    """A planted fact: its statement and its question.

    Attributes:
        said: The user's words with the fact.
        answer: The model's answer.
        fact: The exact words to keep.
        question: A question about the fact.
    """

    said: str
    answer: str
    fact: str
    question: str


PLANTED = (
    Planted(
        "The workshop has moved. Deliveries go to dock 14B from now on, the old gate is closed for good.",
        "Understood: deliveries go to the new dock. I shall put that on every order from now on.",
        "14B",
        "To which dock do deliveries go?",
    ),
    Planted(
        "Our order for the oak boards has the number WB-20931. Please watch it and tell me when it moves.",
        "I shall watch the order and tell you as soon as its state changes.",
        "WB-20931",
        "What is the number of the order for the oak boards?",
    ),
    Planted(
        "The customer must have the staircase by 2026-03-19, there is no later day. Plan from there.",
        "I have planned backwards from that day and left two days for the last coat of oil.",
        "2026-03-19",
        "By which day must the customer have the staircase?",
    ),
    Planted(
        "We agreed on a price of €18,450 for the whole staircase, oil and transport included. No more.",
        "Noted. I shall hold every cost against that sum and warn you before it is used up.",
        "€18,450",
        "Which price did we agree on?",
    ),
    Planted(
        "The drawings lie in plans/stair_final_v7.dxf, older files must never be used again.",
        "I shall use that file alone and leave the older drawings where they are.",
        "plans/stair_final_v7.dxf",
        "In which file are the right drawings?",
    ),
    Planted(
        "Bills go to accounts@holmgren-stairs.example, and never to my own address, I lose them there.",
        "Every bill goes to the accounts address from now on.",
        "accounts@holmgren-stairs.example",
        "Where do the bills go?",
    ),
    Planted(
        "The banister needs screws of 6.4 mm. The thinner ones broke twice, so please order no others.",
        "I have changed the list to the thicker screws and taken the thin ones off.",
        "6.4 mm",
        "Which screws does the banister need?",
    ),
    Planted(
        "The saw has thrown error E-7731 again, as it did in spring. The maker should send somebody to look.",
        "I have written to the maker, named the error and asked for a visit this week.",
        "E-7731",
        "Which error did the saw show?",
    ),
    Planted(
        "The insurance number for the transport is TRN-448-2207, the driver wants to see it at the ferry.",
        "I have put the number on the driver's sheet, at the top.",
        "TRN-448-2207",
        "What is the insurance number for the transport?",
    ),
    Planted(
        "Keep the moisture of the wood at 8.5 % or the treads will warp. Measure it every single morning.",
        "I shall ask for the measurement each morning and warn you when it leaves that mark.",
        "8.5 %",
        "At which moisture must the wood be kept?",
    ),
    Planted(
        "The stock list is at https://stock.holmgren-stairs.example/oak and is newer than the printed one.",
        "I shall read the list there before each order.",
        "https://stock.holmgren-stairs.example/oak",
        "Where is the stock list?",
    ),
    Planted(
        "The permit of the city has the mark BV-2025/611. Nobody may close the street without it.",
        "I have added the mark of the permit to the plan for the day of the crane.",
        "BV-2025/611",
        "Which mark has the permit of the city?",
    ),
)
"""The facts, in the order of the conversation."""

_BETWEEN = (
    (
        (
            "How is the sanding going? The boys said that it takes longer than they had thought, and "
            "I would like to know whether we must call somebody else in, or whether they get it done "
            "alone."
        ),
        (
            "They are through with the lower half and have started on the upper one. It goes slowly "
            "because the grain turns at the bend, but they see no need of help, and I agree with them"
            " after a look at it."
        ),
    ),
    (
        (
            "Remind me what we said about the colour of the oil. My wife thinks that it was the light"
            " one, and I remember the dark one, so one of us must be wrong and I would rather know "
            "before we open a can."
        ),
        (
            "You had looked at both, and wanted to decide with the customer in the room. Nothing is "
            "settled yet. I suggest that we put a sample of each on a piece of waste and show them "
            "both in daylight."
        ),
    ),
    (
        (
            "The apprentice asked for a free afternoon next week. Is there anything that speaks "
            "against it? He has worked well, and I should like to let him go if nothing important "
            "falls on that day."
        ),
        (
            "Nothing speaks against it as far as the plan goes. The boards will not have come by "
            "then, and what is left to sand can wait until the morning after without moving anything "
            "else."
        ),
    ),
)
"""Filler talk between two facts."""


def planted_turns() -> list[tuple[str, str]]:
    """Write the conversation: each fact in its own turn, followed by ordinary talk."""
    turns = []
    for place, planted in enumerate(PLANTED):
        turns.append((planted.said, planted.answer))
        turns += [_BETWEEN[(place + step) % len(_BETWEEN)] for step in range(2)]
    return turns
