"""Pages that the site makes for itself, and links that leave the folder of the pages."""

import re
import subprocess
from pathlib import Path
from textwrap import indent
from typing import Any

from mkdocs.structure.files import File, Files

ROOT = Path(__file__).parents[2]

CLIENT = """# Python client

{readme}

## Calls

::: afterturn_client.Afterturn

::: afterturn_client.turn.Turn

::: afterturn_client._chat.ChatCore
    options:
      heading_level: 3

::: afterturn_client.request.Request

::: afterturn_client.options.Options

::: afterturn_client.errors
"""
OUTSIDE = {"clients/python/README.md": "reference/client.md", "README.md": "index.md"}
"""Pages of the site for files outside of its folder."""
TABS = "<!-- tabs: integrations -->"
INTEGRATIONS = ROOT / "docs/how-to/integrations"

_BLOCK = re.compile(r"```(?:python|ts|yaml)\n.*?```", re.DOTALL)
_LINK = re.compile(r"\[([^\]]*)\]\(([^)#:]+)(#[^)]*)?\)")


def on_files(files: Files, config: Any) -> Files:
    """Add the pages made from the API's document and from the client's docstrings."""
    described = subprocess.run(
        [ROOT / ".venv/bin/python", "-m", "docs.site.api_page"],
        cwd=ROOT,
        check=True,
        capture_output=True,
        text=True,
    )
    readme = (ROOT / "clients/python/README.md").read_text().partition("\n")[2].strip()
    files.append(File.generated(config, "reference/api.md", content=described.stdout))
    client = CLIENT.format(readme=_linked(readme, ROOT / "clients/python/README.md", "reference/client.md"))
    files.append(File.generated(config, "reference/client.md", content=client))
    return files


def on_page_markdown(markdown: str, page: Any, **_: Any) -> str:
    """Lead links to files outside of the folder to their pages, or show them as words."""
    source = page.file.src_uri
    markdown = markdown.replace(TABS, integration_tabs())
    return markdown if page.file.generated_by else _linked(markdown, ROOT / "docs" / source, source)


def integration_tabs() -> str:
    """Write the code of each integration's page as a tab."""
    tabs = []
    for page in sorted(INTEGRATIONS.glob("[a-z]*.md")):
        text = page.read_text()
        title = text.partition("\n")[0].removeprefix("# ")
        code = indent("\n\n".join(_BLOCK.findall(text)), "    ")
        tabs.append(f'=== "{title}"\n\n{code}\n\n    [The page](how-to/integrations/{page.name})\n')
    return "\n".join(tabs)


def _linked(markdown: str, file: Path, page: str) -> str:
    def replaced(link: re.Match[str]) -> str:
        words, anchor = link[1], link[3] or ""
        target = (file.parent / link[2]).resolve()
        if not target.is_relative_to(ROOT):
            return link[0]
        path = str(target.relative_to(ROOT))
        found = OUTSIDE.get(path) or path.removeprefix("docs/")
        if path in OUTSIDE or path.startswith("docs/"):
            return f"[{words}]({'../' * page.count('/')}{found}{anchor})"
        return f"{words} (`{path}`)"

    return _LINK.sub(replaced, markdown)
