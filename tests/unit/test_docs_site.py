"""The pages of the site: each has its place, each link leads somewhere, each call is described."""

import re
from pathlib import Path

import pytest
import yaml

from api.app import make_app
from docs.site.api_page import page
from tests.data import ROOT

DOCS = ROOT / "docs"
PAGES = sorted(page for page in DOCS.glob("**/*.md") if not page.is_relative_to(DOCS / "site"))
MADE = {"reference/api.md", "reference/client.md"}
"""Pages that the build makes."""

LINK = re.compile(r"\[[^\]]*\]\(([^)#:\s]+)(?:#[^)]*)?\)")


def in_order(entries: object) -> list[str]:
    """Find every page of the site's order."""
    if isinstance(entries, str):
        return [entries]
    inner = entries.values() if isinstance(entries, dict) else entries
    return [page for entry in inner for page in in_order(entry)]  # type: ignore[attr-defined]


def test_every_page_has_its_place_in_the_site() -> None:
    order = in_order(yaml.safe_load((DOCS / "site/mkdocs.yml").read_text())["nav"])
    assert len(order) == len(set(order))
    pages = {str(page.relative_to(DOCS)) for page in PAGES}
    shown = {page for page in pages if not page.startswith("decisions/")}
    assert {page for page in order if not page.startswith("decisions/")} == shown | MADE


@pytest.mark.parametrize("page", [ROOT / "README.md", *PAGES], ids=lambda page: str(page.relative_to(ROOT)))
def test_every_link_of_a_page_leads_to_a_file(page: Path) -> None:
    words = re.sub(r"```.*?```|`[^`\n]*`", "", page.read_text(), flags=re.DOTALL)
    missing = [link for link in LINK.findall(words) if not (page.parent / link).exists()]
    made = (
        [f"{'../' * len(page.relative_to(DOCS).parts[:-1])}{one}" for one in MADE]
        if page != ROOT / "README.md"
        else []
    )
    assert set(missing) <= set(made)


def test_the_page_of_the_api_has_every_call_with_its_answers() -> None:
    document = make_app().openapi()
    text = "\n".join(page(document))
    for path, calls in document["paths"].items():
        for method in calls:
            assert f"`{method.upper()} {path}`" in text
    assert text.count("\nAnswers: ") == sum(len(calls) for calls in document["paths"].values())


def test_the_page_of_certificates_names_each_member() -> None:
    members = make_app().openapi()["components"]["schemas"]["WindowProof"]["properties"]
    text = (DOCS / "reference/certificates.md").read_text()
    assert [name for name in members if f"`{name}`" not in text or f'"{name}"' not in text] == []
