"""`afterturn settings`: every setting with its default and meaning, as a page of Markdown."""

from collections.abc import Iterator

import typer
from pydantic.fields import FieldInfo
from pydantic_settings import BaseSettings

from afterturn.settings_report import settings_classes
from models.settings import MASK, SECRET_NAME, variables

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
