"""The parameters of an address: the same text is cleaned there as in a body."""

import pytest

from api.catalogs.budgets import WantedModel
from api.catalogs.routes import WantedVersion
from api.http.call import Parameters
from api.plans import PastPlans
from api.sessions.history import SeqRange
from api.usage import DayRange


def test_what_the_database_cannot_hold_is_taken_out_of_a_parameter() -> None:
    assert WantedModel.model_validate({"model": "gpt\0-4o\ud800"}).model == "gpt-4o\ufffd"


@pytest.mark.parametrize("kind", [WantedModel, WantedVersion, SeqRange, PastPlans, DayRange])
def test_every_call_with_parameters_has_them_cleaned(kind: type[object]) -> None:
    assert issubclass(kind, Parameters)
