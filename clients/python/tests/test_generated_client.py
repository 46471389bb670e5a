"""A typed client is generated from the OpenAPI document, whole, and reads a running service."""

import importlib
import json
import pkgutil
import subprocess
import sys
from pathlib import Path
from typing import Any

import httpx
import pytest
from conftest import PATIENT_S, Service

PACKAGE = "generated_client"
LINES = "content_type_overrides:\n  application/x-ndjson: application/json\n"
"""A single line of a batch is JSON, for which the generator has a form."""


@pytest.fixture
def generated(service: Service, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> dict[str, Any]:
    """The document, after the generation of the client."""
    document = httpx.get(f"{service.url}/openapi.json", timeout=PATIENT_S).raise_for_status().json()
    (tmp_path / "document.json").write_text(json.dumps(document))
    (tmp_path / "config.yaml").write_text(LINES)
    generator = [str(Path(sys.executable).parent / "openapi-python-client"), "generate", "--meta", "none"]
    names = ["--path", "document.json", "--config", "config.yaml", "--output-path", PACKAGE]
    environment = {"PATH": str(Path(sys.executable).parent), "NO_COLOR": "1"}
    done = subprocess.run(
        [*generator, *names], cwd=tmp_path, env=environment, check=False, capture_output=True, text=True
    )
    assert done.returncode == 0, done.stdout + done.stderr
    assert "will not be generated" not in done.stdout + done.stderr
    monkeypatch.syspath_prepend(str(tmp_path))
    return document


def test_every_call_of_the_document_has_a_function_that_reads_its_answer(
    generated: dict[str, Any], service: Service
) -> None:
    package = importlib.import_module(PACKAGE)
    found = [name for _, name, _ in pkgutil.walk_packages(package.__path__, f"{PACKAGE}.")]
    read = {name: importlib.import_module(name) for name in found}
    modules = {name.rpartition(".")[2]: one for name, one in read.items() if f"{PACKAGE}.api." in name}
    operations = [call["operationId"] for calls in generated["paths"].values() for call in calls.values()]
    assert [name for name in operations if not hasattr(modules.get(name), "sync_detailed")] == []
    client = package.AuthenticatedClient(
        base_url=service.url, token=service.key, timeout=httpx.Timeout(PATIENT_S)
    )
    models = importlib.import_module(f"{PACKAGE}.models")
    listed = modules["list_sessions"].sync(client=client)
    assert isinstance(listed, models.SessionList)
    keys = modules["list_keys"].sync(client=client, limit=5)
    assert [one.state for one in keys.keys] == ["in_force"]
    refused = modules["get_session"].sync_detailed("nobodys", client=client)
    assert refused.status_code == 404
