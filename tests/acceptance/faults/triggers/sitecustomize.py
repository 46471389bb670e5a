"""Put on a child's PYTHONPATH: it notes the trigger points that it passes, and dies at the one that is armed.

A point is one side of a commit that writes, of a task that is sent, or of a call of a model. TRIGGERS names
the directory in which they are noted, TRIGGERS_AS who passes them. Python reads this by itself at its start.
"""

import importlib.machinery
import os
import signal
import sys
from collections import Counter
from collections.abc import Callable, Iterator
from importlib.abc import MetaPathFinder
from pathlib import Path
from types import FrameType, ModuleType
from typing import Any

_IN_TRANSACTION = 2
_WRITES = b"select pg_current_xact_id_if_assigned()"
_ROOT = f"{Path.cwd()}/"
_FOREIGN = (f"{_ROOT}.venv/", f"{_ROOT}models/database.py", f"{_ROOT}tests/")


def _pass(point: str) -> None:
    """Note a point, and die if it is the armed one: once, whoever else comes by at the same time."""
    place = Path(os.environ["TRIGGERS"])
    line = f"{os.environ['TRIGGERS_AS']}: {point}"
    with (place / "passed").open("a") as passed:
        passed.write(f"{line}\n")
    try:
        times, _, armed = (place / "armed").read_text().partition(" ")
        if armed == line and Counter((place / "passed").read_text().splitlines())[line] >= int(times):
            (place / "armed").unlink()
            os.kill(os.getpid(), signal.SIGKILL)
    except FileNotFoundError:
        return


def _ours(frame: FrameType | None) -> Iterator[str]:
    """The functions of this tree that are being run, the innermost first."""
    while frame is not None:
        path = frame.f_code.co_filename
        if path.startswith(_ROOT) and not path.startswith(_FOREIGN):
            yield f"{path.removeprefix(_ROOT)} {frame.f_code.co_name}"
        frame = frame.f_back


def _where() -> str:
    """In what: a task of the worker, and the function of ours that commits."""
    state = sys.modules.get("celery._state")
    task = state.get_current_task() if state else None
    function = next(_ours(sys._getframe(1)), "nowhere")
    return f"{task.name}, {function}" if task else function


def _around(what: str, call: Callable[[], Any]) -> Any:
    _pass(f"before {what}")
    try:
        return call()
    finally:
        _pass(f"after {what}")


def _in_database(module: Any) -> None:
    commit = module.Connection.commit

    def noted(self: Any) -> None:
        if self.pgconn.transaction_status != _IN_TRANSACTION or not self.pgconn.exec_(_WRITES).get_value(
            0, 0
        ):
            commit(self)
            return
        _around(f"the commit of {_where()}", lambda: commit(self))

    module.Connection.commit = noted


def _in_celery(module: Any) -> None:
    send = module.Celery.send_task

    def noted(self: Any, name: str, *args: Any, **options: Any) -> Any:
        return _around(f"the sending of {name}", lambda: send(self, name, *args, **options))

    module.Celery.send_task = noted


def _in_gateway(module: Any) -> None:
    ask = module.ask

    def noted(request: Any, *args: Any, **options: Any) -> Any:
        return _around(f"the model's call for {request.purpose}", lambda: ask(request, *args, **options))

    module.ask = noted


_CHANGES = {"psycopg.connection": _in_database, "celery.app.base": _in_celery, "llm.call": _in_gateway}


class _Changer(MetaPathFinder):
    """Changes a module as soon as it has been imported."""

    def find_spec(self, name: str, path: Any, target: ModuleType | None = None) -> Any:
        """Find what would be found anyway."""
        if name not in _CHANGES:
            return None
        spec: Any = importlib.machinery.PathFinder.find_spec(name, path, target)
        run = spec.loader.exec_module

        def run_and_change(module: ModuleType) -> None:
            run(module)
            _CHANGES[name](module)

        spec.loader.exec_module = run_and_change
        return spec


if "TRIGGERS" in os.environ:
    sys.meta_path.insert(0, _Changer())
