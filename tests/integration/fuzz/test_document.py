"""What the OpenAPI document allows and what it forbids is answered, and never by a fault of ours."""

import pytest

from tests.integration.fuzz.document import ENDLESS, operations
from tests.integration.fuzz.door import Door
from tests.integration.fuzz.run import LEAST_OF_A_CALL, fuzz_document


@pytest.mark.timeout(600)
def test_every_call_of_the_document_answers_what_it_allows_and_what_it_forbids(door: Door) -> None:
    requests = 2 * LEAST_OF_A_CALL * len(operations(door.host.document))
    fuzz_document(door, "what the document says", requests)
    assert [str(fault) for fault in door.faults] == []
    described = {
        f"{method.upper()} {path}" for path, calls in door.host.document["paths"].items() for method in calls
    }
    assert described - {ENDLESS} <= {operation for operation, _, _ in door.counts}
    assert door.requests >= requests * 3 / 4
