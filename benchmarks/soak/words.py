"""What people and tools say in this traffic: made from a seed."""

from random import Random

_WHO = ("the driver", "the night shift", "hall seven", "the customer", "our scale", "the gate", "Ms Okafor")
_DOES = ("asks about", "has moved", "cannot find", "reports", "refuses", "will collect", "has weighed")
_WHAT = ("the crate", "pallet", "order", "the seal of", "the cold box", "the invoice for", "trailer")
_WHEN = ("since noon", "for two days", "before six", "again", "without a word", "as agreed", "by mistake")
NUMBERS = (10_000, 10_400)
"""Few, so that what a process remembers of words is full within minutes: growth after that is another's."""

TOPICS = ("crate", "label", "temperature", "invoice", "driver", "schedule", "seal", "report")


def sentence(rng: Random) -> str:
    """One sentence with a number in it."""
    return (
        f"{rng.choice(_WHO)} {rng.choice(_DOES)} {rng.choice(_WHAT)} "
        f"{rng.choice('KMRT')}-{rng.randrange(*NUMBERS)} {rng.choice(_WHEN)}."
    ).capitalize()


def paragraph(rng: Random, sentences: int) -> str:
    """So many sentences."""
    return " ".join(sentence(rng) for _ in range(sentences))


def table(rng: Random, rows: int) -> str:
    """What a tool answers that lists things: comma-separated lines."""
    lines = (
        f"{rng.randrange(*NUMBERS)},{rng.choice(TOPICS)},hall {rng.randrange(1, 20)},"
        f"{rng.uniform(-25, 8):.1f},{rng.choice(('ok', 'late', 'wet', 'missing'))}"
        for _ in range(rows)
    )
    return "\n".join(("id,kind,place,degrees,state", *lines))
