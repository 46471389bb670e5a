"""Base class of the settings of every package, secrets from files, and the values that may be shown."""

import os
import re
from collections.abc import Iterable
from pathlib import Path
from typing import ClassVar

from pydantic import AliasChoices, SecretStr
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
