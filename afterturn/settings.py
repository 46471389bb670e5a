"""`afterturn settings`: every setting as a page of Markdown, and a report of the values in force."""

import importlib
import inspect
import os
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass

import typer
from pydantic import ValidationError
from pydantic.fields import FieldInfo
from pydantic_settings import BaseSettings

from models.base_settings import IN_FILE, MASK, SECRET_NAME, masked, variables, wrong_settings

SETTINGS_MODULES = (
    "models.artifacts.settings",
    "models.catalogs.settings",
    "models.conversations.settings",
    "models.database_settings",
    "models.preflight.settings",
    "models.recall.settings",
    "models.learning.settings",
    "models.retention.settings",
    "models.telemetry.settings",
    "models.shadow.settings",
    "models.encryption.settings",
    "models.ledger.settings",
    "llm.settings",
    "api.settings",
    "workers.settings",
)
PREFIX = "AFTERTURN_"

OTHER_VARIABLES = frozenset(
    {
        *(
            "AFTERTURN_API_KEY",
            "AFTERTURN_BASE_URL",
            "AFTERTURN_DATA",
            "AFTERTURN_PROCESS",
            "AFTERTURN_STACK",
        ),
        "AFTERTURN_EMBEDDED_POSTGRES",
    }
)
"""Prefixed variables other than settings: for commands, tests and the embedded stack."""


@dataclass(frozen=True)
class Setting:
    """A setting in force.

    Attributes:
        variable: The setting's environment variable.
        value: The value in force, safe to show.
        is_default: True if the environment does not set the value.
        meaning: The setting's description.
    """

    variable: str
    value: str
    is_default: bool
    meaning: str


@dataclass(frozen=True)
class SettingsGroup:
    """The settings of a class, or the faults found."""

    name: str
    settings: Sequence[Setting]
    problems: Sequence[str]


def settings_classes(modules: Sequence[str] = SETTINGS_MODULES) -> Iterator[type[BaseSettings]]:
    """Yield every settings class defined in the modules, in order."""
    for name in modules:
        for _, found in inspect.getmembers(importlib.import_module(name), inspect.isclass):
            if issubclass(found, BaseSettings) and found.__module__ == name and found.model_fields:
                yield found


def report(kind: type[BaseSettings], environment: Mapping[str, str]) -> SettingsGroup:
    """Read a class as a process would.

    Args:
        kind: The settings class, reading the process's own environment.
        environment: The same environment, to tell a default from a choice.
    """
    try:
        values = kind()
    except ValidationError as error:
        return SettingsGroup(kind.__name__, (), wrong_settings(error, kind))
    settings = [
        _setting(variables(kind, name, field), getattr(values, name), field, environment)
        for name, field in kind.model_fields.items()
    ]
    return SettingsGroup(kind.__name__, settings, ())


def unknown_variables(environment: Mapping[str, str]) -> list[str]:
    """List prefixed variables without a setting, since a typing error is silently ignored."""
    known = {
        variable
        for kind in settings_classes()
        for name, field in kind.model_fields.items()
        for variable in variables(kind, name, field)
    }
    known |= {f"{variable}{IN_FILE}" for variable in known} | OTHER_VARIABLES
    return sorted(name for name in environment if name.startswith(PREFIX) and name not in known)


def _setting(
    names: Sequence[str], value: object, field: FieldInfo, environment: Mapping[str, str]
) -> Setting:
    used = next((name for name in names if environment.get(name)), None)
    variable = used or names[0]
    return Setting(variable, masked(variable, value), used is None, field.description or "")


def current_groups() -> list[SettingsGroup]:
    """Read all groups of settings for the present process."""
    return [report(kind, os.environ) for kind in settings_classes()]


HEAD = """\
# Settings

Every setting is an environment variable. `.venv/bin/python -m afterturn doctor` prints the values in force.
`.venv/bin/python -m afterturn settings` prints this page.
"""

app = typer.Typer(add_completion=False)


@app.command()
def settings() -> None:
    """Print every setting with its default and meaning."""
    print(render_settings(), end="")


def render_settings() -> str:
    """Render the page: one table for each class of settings, in the order of the report."""
    return HEAD + "".join(_render_class(kind) for kind in settings_classes())


def _render_class(kind: type[BaseSettings]) -> str:
    subject = kind.__name__.removesuffix("Settings")
    intro = (kind.__doc__ or "").strip().partition("\n")[0]
    intro += f" In `{kind.__module__.replace('.', '/')}.py`."
    rows = "\n".join(_rows(kind))
    return f"\n## {subject}\n\n{intro}\n\n| setting | default | meaning |\n|---|---|---|\n{rows}\n"


def _rows(kind: type[BaseSettings]) -> Iterator[str]:
    for name, field in kind.model_fields.items():
        names = " or ".join(f"`{variable}`" for variable in variables(kind, name, field))
        meaning = (field.description or "").replace("|", "&#124;")
        yield f"| {names} | {_default(names, field)} | {meaning} |"


def _default(names: str, field: FieldInfo) -> str:
    value = field.get_default(call_default_factory=True, validated_data={})
    if SECRET_NAME.search(names.lower().rstrip("`")):
        return "none" if not value else MASK
    if value is None or value in ("", (), {}):
        return "none"
    return f"`{value}`"
