"""What doctor says about settings."""

import pytest
from pydantic import Field, SecretStr
from pydantic_settings import BaseSettings, SettingsConfigDict

from afterturn.settings import report, settings_classes, unknown_variables
from api.settings import ApiSettings
from models.base_settings import MASK, changed_settings, masked, variables
from models.database_settings import DatabaseSettings
from tests.data import ROOT


class Example(BaseSettings):
    """Settings as the packages write them."""

    model_config = SettingsConfigDict(env_prefix="AFTERTURN_", frozen=True, extra="ignore")

    example_count: int = Field(3, ge=1, description="How many.")
    example_url: str = "redis://:hidden@127.0.0.1:1/0"
    example_key: SecretStr | None = None


def test_a_chosen_value_is_told_from_a_default(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("AFTERTURN_EXAMPLE_COUNT", "7")
    count, url, _ = report(Example, {"AFTERTURN_EXAMPLE_COUNT": "7"}).settings
    assert (count.variable, count.value, count.is_default) == ("AFTERTURN_EXAMPLE_COUNT", "7", False)
    assert url.is_default


def test_a_wrong_value_is_named_and_not_shown(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("AFTERTURN_EXAMPLE_COUNT", "sk-secret")
    group = report(Example, {})
    assert group.settings == ()
    assert group.problems[0].startswith("AFTERTURN_EXAMPLE_COUNT: ")
    assert "sk-secret" not in group.problems[0]


@pytest.mark.parametrize(
    ("variable", "value", "shown"),
    [
        ("AFTERTURN_LLM_API_KEY", "sk-1", MASK),
        ("AFTERTURN_X", SecretStr("sk-1"), MASK),
        ("AFTERTURN_DATABASE_URL", "postgresql://me:pw@host/db", f"postgresql://me:{MASK}@host/db"),
        ("AFTERTURN_BROKER_URL", "redis://:pw@host/0", f"redis://:{MASK}@host/0"),
        ("AFTERTURN_DATABASE_URL", "postgresql://localhost/db", "postgresql://localhost/db"),
        ("AFTERTURN_SUMMARIZER_MAX_OUTPUT_TOKENS", 4000, "4000"),
        ("AFTERTURN_EXPENSIVE_USD_PER_TOKEN", 1e-05, "1e-05"),
        ("AFTERTURN_METRICS_TOKEN", "a-token", MASK),
        ("AFTERTURN_X", None, "(unset)"),
    ],
)
def test_secrets_are_masked_and_numbers_are_not(variable: str, value: object, shown: str) -> None:
    assert masked(variable, value) == shown


def test_settings_that_differ_from_their_defaults_are_shown_without_secrets(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setenv("AFTERTURN_DATABASE_URL", "postgresql://me:hidden@host/db")
    monkeypatch.setenv("AFTERTURN_METRICS_TOKEN", "a-hidden-token-for-metrics")
    monkeypatch.setenv("AFTERTURN_POOL_SIZE", str(DatabaseSettings.model_fields["pool_size"].default))
    changed = changed_settings()
    assert changed["AFTERTURN_DATABASE_URL"] == f"postgresql://me:{MASK}@host/db"
    assert ApiSettings().metrics_token is not None
    assert changed["AFTERTURN_METRICS_TOKEN"] == MASK
    assert "AFTERTURN_POOL_SIZE" not in changed
    assert "hidden" not in str(changed)
    assert list(changed) == sorted(changed)


def test_every_module_with_settings_is_looked_at() -> None:
    written = {
        ".".join(file.relative_to(ROOT).with_suffix("").parts)
        for package in ("api", "llm", "models", "workers")
        for file in (ROOT / package).rglob("*.py")
        if "(Settings):" in file.read_text()
    }
    assert {kind.__module__ for kind in settings_classes()} == written


def test_a_variable_that_is_no_setting_is_found() -> None:
    assert unknown_variables({"AFTERTURN_LEASE_SEC": "9", "AFTERTURN_LEASE_S": "9", "HOME": "/"}) == [
        "AFTERTURN_LEASE_SEC"
    ]


def test_a_setting_keeps_its_name_without_the_prefix_where_it_has_one() -> None:
    kind = next(kind for kind in settings_classes() if kind.__name__ == "LlmSettings")
    field = kind.model_fields["summarizer_model"]
    assert variables(kind, "summarizer_model", field)[0] == "SUMMARIZER_MODEL"
