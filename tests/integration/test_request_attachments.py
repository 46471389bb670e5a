"""What a request says of a document acts: where it comes from is told, how it is read is followed."""

from typing import Any

import pytest
from fastapi.testclient import TestClient

ROWS = "\n".join(f"pallet {n} stands in hall {n % 7} and weighs {n * 3} kilos" for n in range(400))
ASK: dict[str, Any] = {"model": "gpt-4o", "context_window": 4_000, "max_tokens": 300}


def ask(client: TestClient, **attachment: Any) -> Any:
    body = {
        **ASK,
        "messages": [{"role": "user", "content": "Where does pallet 123 stand?"}],
        "attachments": [{"content": ROWS, **attachment}],
    }
    return client.post("/v1/sessions/s1/context", json=body)


def record(client: TestClient, **attachment: Any) -> dict[str, Any]:
    answer = ask(client, **attachment)
    assert answer.status_code == 200, answer.text
    (found,) = answer.json()["utilization"]["artifacts_processed"]
    return {**found, "shown": str(answer.json()["messages"])}


def test_the_source_stands_in_the_record_and_in_the_label(client: TestClient) -> None:
    found = record(client, source="http://depot.example/pallets", title="Pallets")
    assert found["source"] == "attachment:http://depot.example/pallets"
    assert "attachment:http://depot.example/pallets" in found["shown"]
    assert "Pallets" in found["shown"]


def test_without_a_source_it_is_called_by_its_title(client: TestClient) -> None:
    assert record(client, title="Pallets")["source"] == "attachment:Pallets"


@pytest.mark.parametrize(
    ("attachment_type", "kind"),
    [("document", "text"), ("data", "log"), ("table", "table"), ("log", "log"), ("code", "code")],
)
def test_the_type_says_how_the_text_is_read(client: TestClient, attachment_type: str, kind: str) -> None:
    found = record(client, attachment_type=attachment_type)
    assert f'kind=\\"{kind}\\"' in found["shown"] or f'kind="{kind}"' in found["shown"]
    assert "pallet 123 stands in hall 4" in found["shown"]


def test_a_text_that_has_a_form_keeps_it(client: TestClient) -> None:
    rows = "id,hall\n" + "\n".join(f"{n},{n % 7}" for n in range(2_000))
    assert 'kind="table"' in record(client, content=rows, attachment_type="log")["shown"]


def test_an_unknown_type_is_refused_by_name(client: TestClient) -> None:
    answer = ask(client, attachment_type="spreadsheet")
    assert answer.status_code == 422
    assert "attachment_type" in answer.json()["field"]


def test_an_upload_is_read_as_it_was_stored(client: TestClient) -> None:
    stored = client.post(
        "/v1/attachments",
        params={"source": "s3://depot/pallets.txt", "attachment_type": "data"},
        content=ROWS.encode(),
        headers={"Content-Type": "text/plain"},
    ).json()
    found = record(client, content=None, attachment_id=stored["attachment_id"])
    assert found["source"] == "attachment:s3://depot/pallets.txt"
    assert 'kind="log"' in found["shown"]
