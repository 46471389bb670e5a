"""An installed headless Chromium, driven by the DevTools protocol over a pipe; no library, no download."""

import base64
import json
import os
import select
import shutil
import subprocess
import time
from collections.abc import Mapping
from pathlib import Path
from typing import Any

NAMES = ("chromium", "chromium-browser", "google-chrome", "google-chrome-stable")
PATIENT_S = 60.0
CLOSE_S = 10.0
FLAGS = (
    *("--headless", "--no-sandbox", "--disable-gpu", "--disable-dev-shm-usage", "--no-first-run"),
    *("--disable-background-networking", "--disable-component-update", "--disable-sync", "--mute-audio"),
    *("--disable-extensions", "--remote-debugging-pipe", "--lang=en-GB"),
)


def find_chromium() -> str | None:
    """The program, where one is installed."""
    return next((found for name in NAMES if (found := shutil.which(name))), None)


class Chromium:
    """A running browser."""

    def __init__(self, program: str, profile: Path) -> None:
        commands, self._write = os.pipe()
        self._read, answers = os.pipe()
        # The browser reads commands from 3 and writes answers to 4; the shell puts the pipes there.
        script = f'exec "$0" "$@" 3<&{commands} 4>&{answers}'
        self._process = subprocess.Popen(
            ["bash", "-c", script, program, *FLAGS, f"--user-data-dir={profile}", "about:blank"],
            pass_fds=(commands, answers),
            stdout=subprocess.DEVNULL,
            stderr=subprocess.DEVNULL,
        )
        os.close(commands)
        os.close(answers)
        self._left = b""
        self._number = 0
        self.events: list[dict[str, Any]] = []

    def call(self, method: str, session_id: str | None = None, **params: Any) -> dict[str, Any]:
        """Give a command, and wait for its answer."""
        self._number += 1
        command = {"id": self._number, "method": method, "params": params}
        if session_id is not None:
            command["sessionId"] = session_id
        os.write(self._write, json.dumps(command).encode() + b"\0")
        while True:
            told = self._next(method)
            if told.get("id") == self._number:
                assert "error" not in told, (method, told["error"])
                answer: dict[str, Any] = told["result"]
                return answer
            self.events.append(told)

    def _next(self, method: str) -> dict[str, Any]:
        while b"\0" not in self._left:
            ready, _, _ = select.select([self._read], [], [], PATIENT_S)
            assert ready, f"Chromium does not answer {method}"
            more = os.read(self._read, 1 << 20)
            assert more, f"Chromium ended before it answered {method}"
            self._left += more
        one, self._left = self._left.split(b"\0", 1)
        told: dict[str, Any] = json.loads(one)
        return told

    def close(self) -> None:
        """End the browser."""
        os.close(self._write)
        try:
            self._process.wait(CLOSE_S)
        except subprocess.TimeoutExpired:
            self._process.kill()
            self._process.wait()
        os.close(self._read)


class Tab:
    """A tab with storage of its own."""

    def __init__(self, browser: Chromium, url: str = "about:blank") -> None:
        self._browser = browser
        self.context = browser.call("Target.createBrowserContext")["browserContextId"]
        made = browser.call("Target.createTarget", url="about:blank", browserContextId=self.context)
        attached = browser.call("Target.attachToTarget", targetId=made["targetId"], flatten=True)
        self._session: str = attached["sessionId"]
        for domain in ("Page", "Runtime", "Log"):
            self.call(f"{domain}.enable")
        self._seen = len(browser.events)
        self.size(1280, 800)
        if url != "about:blank":
            self.open(url)

    def call(self, method: str, **params: Any) -> dict[str, Any]:
        """Give a command to the tab."""
        return self._browser.call(method, self._session, **params)

    def open(self, url: str) -> None:
        """Load a page anew."""
        self.call("Page.navigate", url="about:blank")
        self.call("Page.navigate", url=url)
        self.wait("location.href !== 'about:blank' && document.readyState === 'complete'")

    def run(self, script: str) -> Any:
        """The value of an expression in the page."""
        told = self.call("Runtime.evaluate", expression=script, awaitPromise=True, returnByValue=True)
        assert "exceptionDetails" not in told, told["exceptionDetails"]
        return told["result"].get("value")

    def wait(self, condition: str, within_s: float = PATIENT_S) -> None:
        """Wait until an expression of the page is true."""
        ends_at = time.monotonic() + within_s
        while not self.run(f"Boolean({condition})"):
            assert time.monotonic() < ends_at, f"never: {condition}\n{self.run('document.body?.innerText')}"
            time.sleep(0.02)

    def press(self, key: str) -> None:
        """Press a key of the keyboard."""
        codes: Mapping[str, int] = {"Tab": 9, "Enter": 13, "Escape": 27}
        named = {"key": key, "code": key, "windowsVirtualKeyCode": codes[key]}
        said = {"text": "\r"} if key == "Enter" else {}
        self.call("Input.dispatchKeyEvent", type="keyDown", **named, **said)
        self.call("Input.dispatchKeyEvent", type="keyUp", **named)

    def type(self, words: str) -> None:
        """Write into the field with the focus."""
        self.call("Input.insertText", text=words)

    def tab_to(self, selector: str, words: str = "", most: int = 150) -> None:
        """Press Tab until an element has the focus that says these words, if any."""
        found = f"document.activeElement?.matches({json.dumps(selector)})"
        says = f"document.activeElement.textContent.includes({json.dumps(words)})"
        for _ in range(most):
            self.press("Tab")
            if self.run(f"Boolean({found} && {says})"):
                return
        raise AssertionError(f"the keyboard does not reach {selector} {words}")

    def size(self, width: int, height: int) -> None:
        """Set the size of the screen, in CSS pixels."""
        self.call(
            "Emulation.setDeviceMetricsOverride",
            width=width,
            height=height,
            deviceScaleFactor=1,
            mobile=width < 600,
        )

    def scheme(self, name: str) -> None:
        """Let the system be `light` or `dark`."""
        self.call("Emulation.setEmulatedMedia", features=[{"name": "prefers-color-scheme", "value": name}])

    def picture(self, path: Path) -> None:
        """Save the whole page as a picture."""
        taken = self.call("Page.captureScreenshot", format="png", captureBeyondViewport=True)
        path.write_bytes(base64.b64decode(taken["data"]))

    @property
    def faults(self) -> list[str]:
        """Errors of the page's scripts, and what its policy refused."""
        told = [one for one in self._browser.events[self._seen :] if one.get("sessionId") == self._session]
        thrown = [str(one["params"]) for one in told if one["method"] == "Runtime.exceptionThrown"]
        entries = [one["params"]["entry"] for one in told if one["method"] == "Log.entryAdded"]
        return [*thrown, *(one["text"] for one in entries if one["source"] in {"security", "javascript"})]

    def close(self) -> None:
        """Close the tab, and forget its storage."""
        self._browser.call("Target.disposeBrowserContext", browserContextId=self.context)
