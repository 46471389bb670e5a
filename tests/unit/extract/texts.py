"""Texts of every kind, made up for tests."""

import json

from context.artifacts.types import ContentKind

FILLER = "Nothing of interest was said here, and nobody wrote it down. "

MARKDOWN = (
    "# Guide\n\nWhat the depot does, in short.\n\n## Install\n\n"
    + FILLER * 30
    + "\n\n### Windows\n\nThe installer asks for admin rights and wants a reboot.\n\n"
    + FILLER * 30
    + "\n\n## Options\n\n| name | meaning |\n|---|---|\n"
    + "\n".join(f"| option{n} | sets the thing number {n} of the depot |" for n in range(40))
    + "\n\n```python\n# not a heading\nprint('run')\n```\n"
)
RECORDS = [
    {
        "id": n,
        "name": f"Widget {n}",
        "note": f"turns {'slowly ' * 30}by {n * 7} degrees",
        "price": {"amount": n * 3, "currency": "EUR"},
    }
    for n in range(30)
]
JSON = json.dumps({"status": "ok", "items": RECORDS}, indent=1)
CSV = "id,city,amount\n" + "\n".join(f"{n},City{n},{n * 13}" for n in range(300))
LOG = "\n".join(
    f"2024-01-01 12:00:{n % 60:02d} INFO heartbeat is fine"
    if n % 3
    else f"2024-01-01 12:00:{n % 60:02d} ERROR request {n} failed\nTraceback (most recent call last):\n"
    f'  File "app.py", line {n}\nValueError: bad value {n}'
    for n in range(200)
)
CODE = "import os\n\n" + "\n\n".join(
    f"# Part {n}.\ndef part_{n}(value: int) -> int:\n    total = value * {n}\n    for step in range({n}):\n"
    f"        total += step\n    return total"
    for n in range(60)
)
LARGE_CLASS = "class Depot:\n    '''Keeps things.'''\n\n" + "\n\n".join(
    f"    def shelf_{n}(self, thing):\n        self.things[{n}] = thing\n        return self.count({n})"
    for n in range(60)
)
DIFF = "".join(
    f"diff --git a/part{f}.py b/part{f}.py\nindex 1..2 100644\n--- a/part{f}.py\n+++ b/part{f}.py\n"
    + "".join(
        f"@@ -{n},3 +{n},4 @@ def step_{f}_{n}():\n context of {n}\n-removed line {n}\n+added line {n}\n"
        for n in range(12)
    )
    for f in range(6)
)
TALK = "\n".join(
    f"{'Ada' if n % 2 else 'Grace Hopper'}: {FILLER if n % 17 else 'The shutter motor overheats at noon. '}"
    for n in range(200)
)
STORY = "\n\n".join(
    f"The keeper of lighthouse number {n} looked at the sea. " + FILLER * 3 for n in range(60)
)

BY_KIND = {
    ContentKind.MARKDOWN: MARKDOWN,
    ContentKind.JSON: JSON,
    ContentKind.TABLE: CSV,
    ContentKind.LOG: LOG,
    ContentKind.CODE: CODE,
    ContentKind.DIFF: DIFF,
    ContentKind.TEXT: STORY,
    ContentKind.HTML: TALK,
}
