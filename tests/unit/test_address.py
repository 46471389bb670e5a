"""Addresses of servers: a password that would be quoted by a driver is refused at the start, unseen."""

import pytest
from pydantic import ValidationError
from pydantic_settings import BaseSettings

from api.settings import ApiSettings
from models.base_settings import check_address, with_password
from models.database_settings import DatabaseSettings
from workers.settings import WorkerSettings


@pytest.mark.parametrize(
    "address",
    [
        "postgresql://localhost/afterturn",
        "postgresql://me:pw@host:5432/db?sslmode=require&application_name=a@b",
        "postgresql://me:a%2Fb%40c%25@host/db",
        "postgresql://me:pw@one:1,two:2/db",
        "postgresql:///db?host=/tmp",
        "postgresql://[::1]:5432/db",
        "redis://127.0.0.1:6379/0",
        "rediss://:pw@host:6379",
        "redis+socket:///run/valkey.sock",
        "sentinel://:pw@one:26379;sentinel://:pw@two:26379",
        "sqs://",
    ],
)
def test_an_address_is_taken_as_it_is(address: str) -> None:
    assert check_address(address) == address


@pytest.mark.parametrize(
    ("address", "logged_in"),
    [
        ("postgresql://me@host:5/db?x=a@b", "postgresql://me:a%2F%40b@host:5/db?x=a@b"),
        ("postgresql://host/db", "postgresql://:a%2F%40b@host/db"),
        ("postgresql://me:own@host/db", "postgresql://me:own@host/db"),
        ("redis://one:1/0;redis://two:1/0", "redis://:a%2F%40b@one:1/0;redis://:a%2F%40b@two:1/0"),
        ("", ""),
    ],
)
def test_a_password_apart_is_written_into_an_address_without_one(address: str, logged_in: str) -> None:
    assert with_password(address, "a/@b") == logged_in
    assert with_password(address, "") == address


WRONG = (
    "postgresql://me:zecret/more@host/db",
    "postgresql://me:zecret@more@host/db",
    "postgresql://me:zecret%more@host/db",
    "postgresql://me:zecret#more@host/db",
    "postgresql://me:zecret?more@host/db",
    "postgresql://me:zecret more@host/db",
    "postgres:/me:zecret@host/db",
    "me:zecret@host/db",
    "host=h password=zecret",
    "redis://:zec;ret@host:1",
    "",
)


@pytest.mark.parametrize("address", WRONG)
def test_an_address_that_drivers_would_quote_is_refused_unseen(address: str) -> None:
    with pytest.raises(ValueError, match="is no address") as refused:
        check_address(address)
    assert "zec" not in str(refused.value)


@pytest.mark.parametrize(
    ("settings", "variable"),
    [
        (DatabaseSettings, "AFTERTURN_DATABASE_URL"),
        (WorkerSettings, "AFTERTURN_BROKER_URL"),
        (ApiSettings, "AFTERTURN_RATE_URL"),
    ],
)
def test_every_setting_that_names_a_server_is_checked(
    monkeypatch: pytest.MonkeyPatch, settings: type[BaseSettings], variable: str
) -> None:
    monkeypatch.setenv(variable, "redis://me:zecret/more@host/0")
    with pytest.raises(ValidationError, match="is no address") as refused:
        settings()
    assert "zec" not in str(refused.value)


def test_a_server_that_may_be_missing_may_be_empty(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("AFTERTURN_RATE_URL", "")
    assert ApiSettings().rate_url == ""
