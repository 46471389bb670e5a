"""Base class of all settings, secrets, addresses of servers, and the release."""

import os
import re
import tomllib
from collections.abc import Iterable
from pathlib import Path
from typing import Annotated, ClassVar
from urllib.parse import quote

from pydantic import (
    AfterValidator,
    AliasChoices,
    SecretStr,
    ValidationError,
)
from pydantic.fields import FieldInfo
from pydantic_settings import BaseSettings, EnvSettingsSource, PydanticBaseSettingsSource, SettingsConfigDict

IN_FILE = "_FILE"
"""Ending of a variable that names the file with the value, as containers mount secrets."""

MASK = "****"
SECRET_NAME = re.compile(r"(^|_)(key|password|secret|(?<!per_)token)$")
URL_PASSWORD = re.compile(r"(://[^:/@]*:)[^@]*@")


class Settings(BaseSettings):
    """Settings read once from `AFTERTURN_*`, or from the files that `AFTERTURN_*_FILE` name.

    An error names the setting and hides the value.
    """

    model_config = SettingsConfigDict(
        env_prefix="AFTERTURN_", frozen=True, extra="ignore", hide_input_in_errors=True
    )
    libraries_read: ClassVar[tuple[str, ...]] = ()
    """Variables that a library reads by itself, and that may stand in files too."""

    @classmethod
    def settings_customise_sources(
        cls,
        settings_cls: type[BaseSettings],
        init_settings: PydanticBaseSettingsSource,
        env_settings: PydanticBaseSettingsSource,
        dotenv_settings: PydanticBaseSettingsSource,
        file_secret_settings: PydanticBaseSettingsSource,
    ) -> tuple[PydanticBaseSettingsSource, ...]:
        """Fill the environment from files before the settings are read from the environment."""
        del env_settings, dotenv_settings, file_secret_settings  # the first was read before the files
        fields = settings_cls.model_fields.items()
        own = [variable for name, field in fields for variable in variables(settings_cls, name, field)]
        read_files([*own, *cls.libraries_read])
        return init_settings, EnvSettingsSource(settings_cls)


def read_files(names: Iterable[str]) -> None:
    """Set each variable without a value from the file that its `NAME_FILE` names.

    Raises:
        ValueError: A file cannot be read; the message names the variable.
    """
    for name in names:
        path = os.environ.get(f"{name}{IN_FILE}")
        if path and not os.environ.get(name):
            try:
                os.environ[name] = Path(path).read_text().rstrip("\r\n")
            except (OSError, UnicodeError) as error:
                raise ValueError(f"{name}{IN_FILE}: {type(error).__name__}") from None


def wrong_settings(error: ValidationError, kind: type[BaseSettings] | None = None) -> list[str]:
    """Describe each wrong setting by its variable, without the value, since the value may be secret.

    Args:
        error: The error of a settings class.
        kind: The class; None to find the class by the error.
    """
    kind = kind or next((one for one in Settings.__subclasses__() if one.__name__ == error.title), Settings)
    told = []
    for details in error.errors(include_input=False):
        name = str(details["loc"][0]) if details["loc"] else ""
        field = kind.model_fields.get(name)
        variable = variables(kind, name, field)[0] if field else name or error.title
        told.append(f"{variable}: {details['msg']}")
    return told


def changed_settings() -> dict[str, str]:
    """Show the settings of this process that differ from their defaults, by variable, secrets masked.

    Returns:
        Settings of every class that the process imported; classes with a wrong value are left out.
    """
    changed: dict[str, str] = {}
    for kind in Settings.__subclasses__():
        try:
            values = kind()
        except ValueError:
            continue
        for name, field in kind.model_fields.items():
            value = getattr(values, name)
            if value != field.get_default(call_default_factory=True, validated_data={}):
                variable = variables(kind, name, field)[0]
                changed[variable] = masked(variable, value)
    return dict(sorted(changed.items()))


def variables(kind: type[BaseSettings], name: str, field: FieldInfo) -> list[str]:
    """List the environment variables of a field, the usual name first."""
    alias = field.validation_alias
    if isinstance(alias, AliasChoices):
        return [choice for choice in alias.choices if isinstance(choice, str)]
    if isinstance(alias, str):
        return [alias]
    return [f"{kind.model_config.get('env_prefix', '')}{name}".upper()]


def masked(variable: str, value: object) -> str:
    """Mask a secret value for display."""
    if value in (None, ""):
        return "(unset)"
    if isinstance(value, SecretStr) or SECRET_NAME.search(variable.lower()):
        return MASK
    return URL_PASSWORD.sub(rf"\1{MASK}@", str(value))


_HOST = r"(?:\[[^\]@]*\]|[^@:/?#\[\]\s,]*)(?::\d*)?"
_ONE = re.compile(rf"[a-zA-Z][\w+.-]*://(?:[^@/?#\s]*@)?{_HOST}(?:,{_HOST})*(?:/[^@?#\s]*)?(?:\?[^#\s]*)?")
_BARE_PERCENT = re.compile(r"%(?![0-9A-Fa-f]{2})")


def check_address(address: str) -> str:
    """Check that the parts of an address can be told apart; sentinel addresses may come in a list.

    Drivers quote an unreadable address, password included, in logs and on the screen.

    Args:
        address: The text written by the operator.

    Raises:
        ValueError: The text is no address; the message does not repeat the text.
    """
    for one in address.split(";"):
        if _ONE.fullmatch(one) is None or _BARE_PERCENT.search(one):
            raise ValueError(
                "is no address: write scheme://user:password@host:port/name, and in the password %2F for a "
                "slash, %40 for an at sign, %23 for a hash, %3F for a question mark, %3B for a semicolon and "
                "%25 for a percent sign"
            )
    return address


_LOGIN = re.compile(r"(?P<scheme>[a-zA-Z][\w+.-]*://)(?:(?P<user>[^@:/?#]*)(?P<password>:[^@/?#]*)?@)?")


def with_password(address: str, password: str) -> str:
    """Write a password into each address of a list that has none.

    Args:
        address: Checked addresses, separated by semicolons.
        password: The password as it is, without escapes; empty for none.
    """
    if not password or not address:
        return address
    return ";".join(_insert(one, quote(password, safe="")) for one in address.split(";"))


def _insert(address: str, password: str) -> str:
    found = _LOGIN.match(address)
    if found is None or found["password"]:
        return address
    return f"{found['scheme']}{found['user'] or ''}:{password}@{address[found.end() :]}"


Address = Annotated[str, AfterValidator(check_address)]
"""A setting with the address of a server."""

AddressOrNone = Annotated[str, AfterValidator(lambda address: address and check_address(address))]
"""A setting with the address of an optional server; empty without a server."""


PROJECT = Path(__file__).parents[1] / "pyproject.toml"

RELEASE: str = tomllib.loads(PROJECT.read_text())["project"]["version"]
"""Number of the release, such as `0.2.0`; the version of the calls is `API_VERSION`."""


def newest_migration() -> str:
    """Return the number of this release's newest migration, by the names of the files."""
    return max(file.name[:4] for file in (PROJECT.parent / "migrations/versions").glob("[0-9]*.py"))
