"""A headless Chromium for tests, driven over a pipe by its DevTools protocol: pages at any width, what they say, what
they ask of the network, and pictures of them. What pages should look like is said by the tests themselves."""

from __future__ import annotations

import base64
import json
import os
import shutil
import subprocess
from pathlib import Path
from types import TracebackType
from typing import Any, Self

import pytest

CHROMIUM = shutil.which("chromium") or shutil.which("chromium-browser") or shutil.which("google-chrome")
FLAGS = (
    "--headless --no-sandbox --disable-gpu --no-first-run --disable-background-networking --disable-component-update "
    "--disable-sync --disable-extensions --hide-scrollbars --remote-debugging-pipe"
)
needs_browser = pytest.mark.skipif(CHROMIUM is None, reason="no Chromium on this machine")


class Browser:
    """One browser with one page."""

    def __init__(self, profile: Path) -> None:
        ours, theirs = os.pipe(), os.pipe()  # What we send, and what comes back.

        # Chromium reads from descriptor 3 and writes to 4.
        connect = f'exec "$@" 3<&{ours[0]} 4>&{theirs[1]}'
        flags = [*FLAGS.split(), f"--user-data-dir={profile}", "about:blank"]
        self._process = subprocess.Popen(
            ["bash", "-c", connect, "bash", str(CHROMIUM), *flags],
            stderr=subprocess.DEVNULL,
            pass_fds=(ours[0], theirs[1]),
        )
        os.close(ours[0])
        os.close(theirs[1])
        self._out, self._in = os.fdopen(ours[1], "wb"), os.fdopen(theirs[0], "rb")
        self._number, self._rest, self._session = 0, b"", ""
        self._loaded = False
        self.complaints: list[str] = []
        """Errors on the console and exceptions, since the page was opened."""
        self.asked: list[str] = []
        """Every address that was asked for, since the page was opened."""
        pages = self._call("Target.getTargets")["targetInfos"]
        target = next(page["targetId"] for page in pages if page["type"] == "page")
        self._session = self._call("Target.attachToTarget", targetId=target, flatten=True)["sessionId"]
        for domain in ("Page", "Runtime", "Network", "Log"):
            self._call(f"{domain}.enable")

    def __enter__(self) -> Self:
        return self

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, at: TracebackType | None) -> None:
        self._out.close()
        self._process.terminate()
        self._process.wait(timeout=20)
        self._in.close()

    def open(
        self, page: Path, *, width: int = 1200, height: int = 900, dark: bool = False, scripts: bool = True
    ) -> None:
        """Shows a file on a screen of this size; a narrow one is a phone's. Without its own scripts where it must do so."""
        self._call("Emulation.setScriptExecutionDisabled", value=not scripts)
        phone = width < 600
        self._call("Emulation.setDeviceMetricsOverride", width=width, height=height, deviceScaleFactor=1, mobile=phone)
        scheme = {"name": "prefers-color-scheme", "value": "dark" if dark else "light"}
        self._call("Emulation.setEmulatedMedia", media="", features=[scheme])
        self.complaints.clear()
        self.asked.clear()
        self._loaded = False
        self._call("Page.navigate", url=page.resolve().as_uri())
        while not self._loaded:
            self._heard()

    def run(self, script: str) -> Any:
        """What the body of an asynchronous function gives back."""
        done = self._call(
            "Runtime.evaluate", expression=f"(async () => {{ {script} }})()", awaitPromise=True, returnByValue=True
        )
        assert "exceptionDetails" not in done, done["exceptionDetails"]
        return done["result"].get("value")

    def draw_all(self, most: int | None = None) -> int:
        """Scrolls through the page until every figure is interactive, or so many of them; how many there are."""
        script = """
            const figures = [...document.querySelectorAll('figure[data-plot]')].slice(0, MOST);
            for (const figure of figures) {
              figure.scrollIntoView();
              for (let wait = 0; !figure.dataset.drawn && wait < 400; wait += 1) {
                await new Promise((ready) => setTimeout(ready, 25));
              }
            }
            scrollTo(0, 0);
            return figures.filter((figure) => figure.dataset.drawn).length;
        """
        return int(self.run(script.replace("MOST", "undefined" if most is None else str(most))))

    def picture(self, file: Path) -> None:
        """The whole page as a PNG."""
        size = self.run("return [document.documentElement.scrollWidth, document.documentElement.scrollHeight]")
        clip = {"x": 0, "y": 0, "width": size[0], "height": size[1], "scale": 1}
        shot = self._call("Page.captureScreenshot", format="png", captureBeyondViewport=True, clip=clip)
        file.write_bytes(base64.b64decode(shot["data"]))

    def print_like(self) -> None:
        """Shows the page as printers do, on the screen."""
        self._call("Emulation.setEmulatedMedia", media="print")

    def print(self, file: Path) -> None:
        """The page as it would be printed, as a PDF."""
        file.write_bytes(base64.b64decode(self._call("Page.printToPDF", printBackground=False)["data"]))

    def _call(self, method: str, **parameters: Any) -> dict[str, Any]:
        self._number += 1
        message = {"id": self._number, "method": method, "params": parameters}
        if self._session:
            message["sessionId"] = self._session
        self._out.write(json.dumps(message).encode() + b"\0")
        self._out.flush()
        while True:
            answer = self._heard()
            if answer.get("id") == self._number:
                assert "error" not in answer, answer["error"]
                return dict(answer["result"])

    def _heard(self) -> dict[str, Any]:
        while b"\0" not in self._rest:
            read = os.read(self._in.fileno(), 1 << 20)
            assert read, "the browser has gone"
            self._rest += read
        text, self._rest = self._rest.split(b"\0", 1)
        message: dict[str, Any] = json.loads(text)
        self._note(message.get("method", ""), message.get("params", {}))
        return message

    def _note(self, method: str, told: dict[str, Any]) -> None:
        if method == "Page.loadEventFired":
            self._loaded = True
        elif method == "Network.requestWillBeSent":
            self.asked.append(told["request"]["url"])
        elif method == "Runtime.exceptionThrown":
            self.complaints.append(str(told["exceptionDetails"]))
        elif method == "Runtime.consoleAPICalled" and told["type"] in {"error", "warning", "assert"}:
            self.complaints.append(str(told["args"]))
        elif method == "Log.entryAdded" and told["entry"]["level"] in {"error", "warning"}:
            self.complaints.append(str(told["entry"]["text"]))
