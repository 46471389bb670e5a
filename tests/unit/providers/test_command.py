"""What an operator writes on the command line about a model."""

from decimal import Decimal

import pytest
import typer

from afterturn.profiles import read_override
from context.providers.profiles import ProfileOverride, Tier


def test_values_are_read_by_their_names() -> None:
    override = read_override(
        " OpenAI/GPT-4o ", ["tier=B", "input_tokens=9000", "input_usd=0.5", "filter_pass=true"]
    )
    assert override == ProfileOverride(
        "openai/gpt-4o", tier=Tier.B, input_tokens=9_000, input_usd=Decimal("0.5"), filter_pass=True
    )


@pytest.mark.parametrize(
    ("value", "said"),
    [
        ("tire=B", "tire: a name is one of tier"),
        ("tier=D", "tier: "),
        ("tier", "tier: "),
        ("input_tokens=many", "input_tokens: "),
        ("input_tokens=0", "input_tokens must be 1"),
        ("input_usd=-1", "input_usd must be 0"),
        ("input_usd=nan", "input_usd: "),
    ],
)
def test_what_is_no_value_is_refused_by_its_name(value: str, said: str) -> None:
    with pytest.raises(typer.BadParameter, match=said):
        read_override("openai/", [value])


def test_an_override_is_of_some_model() -> None:
    with pytest.raises(typer.BadParameter, match="start of a model"):
        read_override(" ", ["tier=B"])
