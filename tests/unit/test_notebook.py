"""The notebook of learning: its cells run in order, on plans of a file, and no output is stored in it."""

import json
import sys
from collections.abc import Iterator
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

import pytest

from tests.unit.priors.plans import TOOLS, history

NOTEBOOK = Path(__file__).parents[2] / "benchmarks" / "learning.ipynb"
MOST_BYTES = 12_000


def cells() -> list[dict[str, Any]]:
    """The cells, as they are stored."""
    found: list[dict[str, Any]] = json.loads(NOTEBOOK.read_text())["cells"]
    return found


@pytest.fixture
def files(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    """Plans as `afterturn plans export` writes them, and a catalog whose words say nothing of the intents."""
    plans = history(25)
    now = datetime.now(UTC)
    rows = [
        {
            "intent": plan.intent,
            "tools": [step.tool for step in plan.tools],
            "outcome": "ok",
            "at": (now - timedelta(hours=len(plans) - place)).isoformat(),
            "catalog": "main",
        }
        for place, plan in enumerate(sorted(plans, key=lambda plan: plan.intent[::-1]))
    ]
    rows.append({"intent": "not ended", "tools": ["mail"], "at": now.isoformat()})
    shuffled = [rows[(place * 37) % len(rows)] for place in range(len(rows))]
    document = {
        "tools": [{"name": name, "description": f"Tool number {at}"} for at, name in enumerate(TOOLS)]
    }
    (tmp_path / "plans.jsonl").write_text("".join(f"{json.dumps(row)}\n" for row in shuffled))
    (tmp_path / "catalog.json").write_text(json.dumps({"name": "main", "catalog": document}))
    monkeypatch.setenv("AFTERTURN_PLANS", str(tmp_path / "plans.jsonl"))
    monkeypatch.setenv("AFTERTURN_CATALOG", str(tmp_path / "catalog.json"))
    monkeypatch.setenv("MPLBACKEND", "Agg")
    monkeypatch.chdir(NOTEBOOK.parent)
    pyplot = pytest.importorskip("matplotlib.pyplot", reason="matplotlib draws only from a checkout")
    pyplot.switch_backend("Agg")
    yield
    pyplot.close("all")


@pytest.mark.usefixtures("files")
def test_every_cell_runs_and_priors_beat_bm25_where_words_say_nothing(
    capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("sys.path", [*sys.path])
    names: dict[str, Any] = {"__name__": "__main__"}
    for cell in cells():
        if cell["cell_type"] == "code":
            exec(compile("".join(cell["source"]), f"{NOTEBOOK.name} {cell['id']}", "exec"), names)  # noqa: S102
    assert (len(names["teaching"]), len(names["judging"])) == (160, 40)
    recall = {name: figures["recall_at_5"] for name, figures in names["graded"].items()}
    assert recall["BM25"] < 0.5
    assert recall["words + priors"] > 0.9
    assert names["curve"] == sorted(names["curve"])
    said = capsys.readouterr().out
    assert "200 plans with outcomes from" in said
    assert "-> 1  " in said
    figures = [names["plt"].figure(number) for number in names["plt"].get_fignums()]
    assert [len(figure.axes[0].patches) for figure in figures] == [6, 0]
    assert [len(figure.axes[0].lines[0].get_xdata()) for figure in figures][1] == len(names["sizes"])


def test_the_notebook_is_small_and_holds_no_output_of_a_machine() -> None:
    assert len(NOTEBOOK.read_bytes()) < MOST_BYTES
    codes = [cell for cell in cells() if cell["cell_type"] == "code"]
    assert [(cell["outputs"], cell["execution_count"]) for cell in codes] == [([], None)] * len(codes)
    assert len({cell["id"] for cell in cells()}) == len(cells())
