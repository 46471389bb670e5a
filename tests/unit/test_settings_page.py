from afterturn.settings import render_settings, settings_classes
from models.base_settings import variables
from tests.data import ROOT


def test_the_page_of_settings_is_the_printed_one() -> None:
    """Print it anew with `python -m afterturn settings > docs/reference/settings.md`."""
    assert (ROOT / "docs/reference/settings.md").read_text() == render_settings()


def test_every_setting_has_one_row_with_a_meaning() -> None:
    rows = [line for line in render_settings().splitlines() if line.startswith("| `")]
    fields = [(kind, name) for kind in settings_classes() for name in kind.model_fields]
    assert len(rows) == len(fields)
    assert all(row.rsplit("|", 2)[1].strip() for row in rows)
    page = "\n".join(rows)
    for kind, name in fields:
        assert all(f"`{variable}`" in page for variable in variables(kind, name, kind.model_fields[name]))
