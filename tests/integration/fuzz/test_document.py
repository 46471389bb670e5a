"""What the OpenAPI document allows and what it forbids is answered, and never by a fault of ours."""

import pytest

from tests.integration.fuzz.door import Door
from tests.integration.fuzz.run import fuzz_document

REQUESTS = 900


@pytest.mark.timeout(600)
def test_every_call_of_the_document_answers_what_it_allows_and_what_it_forbids(door: Door) -> None:
    fuzz_document(door, "what the document says", REQUESTS)
    assert [str(fault) for fault in door.faults] == []
    described = {
        f"{method.upper()} {path}" for path, calls in door.host.document["paths"].items() for method in calls
    }
    assert described <= {operation for operation, _, _ in door.counts}
    assert door.requests >= REQUESTS * 3 / 4
