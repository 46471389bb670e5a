"""`afterturn work` on a running stack: a model that was parked is asked again."""

import psycopg

from afterturn.stack.roles import Addresses
from tests.acceptance.command import afterturn


def test_a_parked_model_is_shown_with_its_reason_and_asked_again(addresses: Addresses) -> None:
    with psycopg.connect(addresses.database_url) as db:
        db.execute(
            "insert into provider_gate (model, failures, open_until, reason, failed_at) "
            "values ('some/model', 1, now() + interval '1 h', 'bad key', now())"
        )
    assert "model some/model  open" in afterturn(addresses.directory, "work", "list")
    assert "models asked again: 1" in afterturn(addresses.directory, "work", "retry")
    assert "some/model" not in afterturn(addresses.directory, "work", "list")


def test_one_model_is_asked_again_and_the_others_are_left_alone(addresses: Addresses) -> None:
    with psycopg.connect(addresses.database_url) as db:
        db.execute(
            "insert into provider_gate (model, failures, open_until, reason, failed_at) "
            "select model, 1, now() + interval '1 h', 'bad key', now() "
            "from unnest(array['mended/model', 'other/model']) as one (model)"
        )
    told = afterturn(addresses.directory, "work", "ask", "mended/model")
    assert "mended/model: no work waits for it, the next call asks it" in told
    shown = afterturn(addresses.directory, "work", "list")
    assert "model mended/model  half-open since" in shown
    assert "model other/model  open" in shown
    afterturn(addresses.directory, "work", "retry")
