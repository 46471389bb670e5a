"""Secrets from files, as containers mount them."""

import os
from pathlib import Path

import pytest

from afterturn.settings import unknown_variables
from api.settings import ApiSettings
from llm.settings import LlmSettings
from models.base_settings import read_files
from models.database_settings import DatabaseSettings
from workers.settings import WorkerSettings


@pytest.fixture
def secret(tmp_path: Path) -> Path:
    """A file as an editor leaves it."""
    file = tmp_path / "secret"
    file.write_text("a/secret@of-the-file\n")
    return file


@pytest.fixture(autouse=True)
def _clean(monkeypatch: pytest.MonkeyPatch) -> None:
    """The environment is put back, with what was read from files."""
    for name in ("DATABASE_PASSWORD", "BROKER_PASSWORD", "RATE_PASSWORD", "METRICS_TOKEN"):
        monkeypatch.setenv(f"AFTERTURN_{name}", "")
        monkeypatch.delenv(f"AFTERTURN_{name}")
    for name in ("OPENAI_API_KEY", "FLOWER_BASIC_AUTH"):
        monkeypatch.setenv(name, "")


def test_a_password_comes_from_a_file_into_the_address(monkeypatch: pytest.MonkeyPatch, secret: Path) -> None:
    for name in ("DATABASE_PASSWORD", "BROKER_PASSWORD", "RATE_PASSWORD"):
        monkeypatch.setenv(f"AFTERTURN_{name}_FILE", str(secret))
    monkeypatch.setenv("AFTERTURN_DATABASE_URL", "postgresql://afterturn@postgres:5432/afterturn")
    monkeypatch.setenv("AFTERTURN_BROKER_URL", "redis://redis:6379/0")
    monkeypatch.setenv("AFTERTURN_RATE_URL", "redis://redis:6379/1")
    escaped = "a%2Fsecret%40of-the-file"
    assert DatabaseSettings().database_url == f"postgresql://afterturn:{escaped}@postgres:5432/afterturn"
    assert WorkerSettings().broker_url == f"redis://:{escaped}@redis:6379/0"
    assert ApiSettings().rate_url == f"redis://:{escaped}@redis:6379/1"


def test_a_setting_that_is_set_wins_over_its_file(monkeypatch: pytest.MonkeyPatch, secret: Path) -> None:
    monkeypatch.setenv("AFTERTURN_METRICS_TOKEN_FILE", str(secret))
    token = ApiSettings().metrics_token
    assert token is not None
    assert token.get_secret_value() == "a/secret@of-the-file"
    monkeypatch.setenv("AFTERTURN_METRICS_TOKEN", "the-token-of-the-environment")
    token = ApiSettings().metrics_token
    assert token is not None
    assert token.get_secret_value() == "the-token-of-the-environment"


@pytest.mark.parametrize(
    ("kind", "variable"), [(LlmSettings, "OPENAI_API_KEY"), (WorkerSettings, "FLOWER_BASIC_AUTH")]
)
def test_a_key_that_a_library_reads_comes_from_a_file(
    monkeypatch: pytest.MonkeyPatch, secret: Path, kind: type, variable: str
) -> None:
    monkeypatch.setenv(f"{variable}_FILE", str(secret))
    kind()
    assert os.environ[variable] == "a/secret@of-the-file"


def test_a_file_that_is_not_there_is_named_by_its_variable(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    monkeypatch.setenv("OPENAI_API_KEY_FILE", str(tmp_path / "none"))
    with pytest.raises(ValueError, match=r"^OPENAI_API_KEY_FILE: FileNotFoundError$"):
        read_files(["OPENAI_API_KEY"])


def test_a_file_of_a_setting_is_known_and_of_none_is_not() -> None:
    given = {"AFTERTURN_TEXT_KEYS_FILE": "/run/secrets/text", "AFTERTURN_NONE_FILE": "/run/secrets/none"}
    assert unknown_variables(given) == ["AFTERTURN_NONE_FILE"]
