"""Chromium by its own protocol over a pipe: open a page, click, type, run scripts.

    with Chromium(binary, profile) as browser:
        browser.get(page.as_uri())
        browser.find_element("css selector", "button").click()

Needs nothing but the browser. The protocol: https://chromedevtools.github.io/devtools-protocol/.
"""

from __future__ import annotations

import base64
import fcntl
import json
import os
import select
import signal
import subprocess
import sys
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any, Self

FLAGS = (
    "--headless=new --no-sandbox --disable-gpu --disable-quic --no-first-run "
    "--disable-background-networking --disable-component-update --disable-sync "
    "--disable-dev-shm-usage --remote-debugging-pipe"
)
WAIT_S = 60.0
# The browser reads from descriptor 3 and writes to 4.
_BEGIN = """
import os, sys
theirs_in, theirs_out, *command = sys.argv[1:]
os.dup2(int(theirs_in), 3)
os.dup2(int(theirs_out), 4)
os.execv(command[0], command)
"""
# Elements by each way to name them: an expression over `root` and `value`.
_FOUND = {
    "css selector": "[...root.querySelectorAll(value)]",
    "tag name": "[...root.querySelectorAll(value)]",
    "id": "[...root.querySelectorAll('#' + CSS.escape(value))]",
    "link text": "[...root.querySelectorAll('a')].filter((a) => a.innerText.trim() === value)",
    "xpath": """(() => {
        const all = document.evaluate(value, root, null, XPathResult.ORDERED_NODE_SNAPSHOT_TYPE);
        return Array.from({length: all.snapshotLength}, (_, k) => all.snapshotItem(k));
    })()""",
}
# Lines as they are seen: no space at their ends, one between cells, no empty lines.
_TEXT = r"""function () {
    return this.innerText.split('\n').map((line) => line.replace(/[\t ]+/g, ' ').trim())
      .filter((line) => line).join('\n');
}"""
_SEEN = """function () {
    return this.getClientRects().length > 0
      && this.checkVisibility({opacityProperty: true, visibilityProperty: true});
}"""
# The middle of the first line of an element, in view.
_PLACE = """function () {
    this.scrollIntoView({block: 'center', inline: 'center', behavior: 'instant'});
    const box = [...this.getClientRects()].find((one) => one.width && one.height);
    return box ? [box.left + box.width / 2, box.top + box.height / 2] : null;
}"""
_KEYS = {
    "Enter": ("Enter", 13, "\r"),
    " ": ("Space", 32, " "),
    "Escape": ("Escape", 27, ""),
    "Backspace": ("Backspace", 8, ""),
    "Tab": ("Tab", 9, ""),
    "ArrowLeft": ("ArrowLeft", 37, ""),
    "ArrowUp": ("ArrowUp", 38, ""),
    "ArrowRight": ("ArrowRight", 39, ""),
    "ArrowDown": ("ArrowDown", 40, ""),
    "Home": ("Home", 36, ""),
}
_SHIFT = 8


class ChromiumError(Exception):
    """It cannot be done: there is no such element, a script throws, the browser has ended."""


class Chromium:
    """One browser with one page."""

    def __init__(self, binary: str, profile: Path) -> None:
        theirs_in, ours_out = _pipe()
        ours_in, theirs_out = _pipe()
        command = [binary, *FLAGS.split(), f"--user-data-dir={profile}", "about:blank"]
        self._process = subprocess.Popen(
            [sys.executable, "-SEc", _BEGIN, str(theirs_in), str(theirs_out), *command],
            stdin=subprocess.DEVNULL,
            stdout=subprocess.DEVNULL,
            stderr=subprocess.DEVNULL,
            pass_fds=(theirs_in, theirs_out),
            start_new_session=True,
        )
        os.close(theirs_in)
        os.close(theirs_out)
        self._in, self._out = ours_in, ours_out
        self._buffer = b""
        self._last = 0
        self._loads = 0
        self._scripts = True
        self._session: str | None = None
        self._said: list[str] = []
        self._requests: list[str] = []
        self.dialogs: list[str] = []  # the kinds of those that came up, such as "beforeunload"
        target = self.send("Target.createTarget", url="about:blank")["targetId"]
        attached = self.send("Target.attachToTarget", targetId=target, flatten=True)
        self._session = attached["sessionId"]
        for domain in ("Page", "Runtime", "Log", "Network"):
            self.send(f"{domain}.enable")

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_error: object) -> None:
        """End the browser."""
        os.close(self._out)  # it ends when nobody asks any more
        try:
            self._process.wait(10)
        except subprocess.TimeoutExpired:
            os.killpg(self._process.pid, signal.SIGKILL)
            self._process.wait()
        os.close(self._in)

    def send(self, method: str, **params: Any) -> dict[str, Any]:
        """Call a method of the protocol and return what it gives."""
        if method == "Emulation.setScriptExecutionDisabled":
            self._scripts = not params["value"]
        number = self._call(method, params)
        reply = self._until(lambda message: message.get("id") == number, method)
        if "error" in reply:
            raise ChromiumError(f"{method}: {reply['error']['message']}")
        found: dict[str, Any] = reply["result"]
        return found

    def _call(self, method: str, params: dict[str, Any]) -> int:
        """Call a method; the number that its reply will have."""
        self._last += 1
        call: dict[str, Any] = {"id": self._last, "method": method, "params": params}
        if self._session is not None:
            call["sessionId"] = self._session
        data = json.dumps(call).encode() + b"\0"
        while data:
            data = data[os.write(self._out, data) :]
        return self._last

    def get(self, url: str) -> None:
        """Open the address and wait until it is loaded."""
        before = self._loads
        done = self.send("Page.navigate", url=url)
        if "errorText" in done:
            raise ChromiumError(f"{url}: {done['errorText']}")
        if "loaderId" in done:  # not within the same page
            self._loaded(before)

    def refresh(self) -> None:
        """Load the page again."""
        before = self._loads
        self.send("Page.reload")
        self._loaded(before)

    def back(self) -> None:
        """One step back, within the page."""
        self._step("back")

    def forward(self) -> None:
        """One step forward, within the page."""
        self._step("forward")

    @property
    def current_url(self) -> str:
        """The address of the page."""
        return str(self.execute_script("return location.href"))

    def execute_script(self, script: str, *values: Any) -> Any:
        """What the body of a function returns; it finds the values in `arguments`."""
        return self.call(self._object("document"), f"function () {{{script}\n}}", *values)

    def execute_async_script(self, script: str, *values: Any) -> Any:
        """What the body hands to the function that it finds behind its values."""
        call = f"(function () {{{script}\n}}).apply(null, [...arguments, done])"
        return self.execute_script(f"return new Promise((done) => {{ {call} }})", *values)

    def find_elements(self, by: str, value: str) -> list[Element]:
        """All elements that CSS, id, tag name, link text or XPath name."""
        return Element(self, self._object("document")).find_elements(by, value)

    def find_element(self, by: str, value: str) -> Element:
        """The first of them. ChromiumError where there is none."""
        return Element(self, self._object("document")).find_element(by, value)

    def messages(self) -> list[str]:
        """What the page wrote to the console, and its errors, since this was called last."""
        self._evaluate("0")  # what came before it has come
        said, self._said = self._said, []
        return said

    def requests(self) -> list[str]:
        """The addresses that were asked for since this was called last."""
        self._evaluate("0")
        asked, self._requests = self._requests, []
        return asked

    def wait_until(self, done: Callable[[], object], seconds: float = 30.0) -> None:
        """Wait until it holds; what is not there, or is just going, does not hold."""
        give_up = time.monotonic() + seconds
        while True:
            try:
                if done():
                    return
            except ChromiumError:
                if time.monotonic() > give_up:
                    raise
            assert time.monotonic() < give_up, "it did not come true in time"
            time.sleep(0.01)

    def settle(self) -> None:
        """Wait for what a click or key has set off in the page: handlers, a change of address."""
        if not self._scripts:  # there are no handlers, and nobody would call back
            return
        script = "const done = arguments[0]; setTimeout(() => setTimeout(done))"
        try:
            self.execute_async_script(script)
        except ChromiumError:  # the page has gone; whoever wants the next one waits for it
            return

    def press(self, *keys: str, shift: bool = False) -> None:
        """Press keys, one after another, wherever the focus is: letters, digits, "Escape" …"""
        for key in keys:
            code, number, text = _KEYS.get(key, (key, ord(key[0].upper()), key))
            shared: dict[str, Any] = {"key": key, "code": code, "windowsVirtualKeyCode": number}
            shared["modifiers"] = _SHIFT if shift else 0
            typed = {"type": "keyDown", "text": text} if text else {"type": "rawKeyDown"}
            self.send("Input.dispatchKeyEvent", **typed, **shared)
            self.send("Input.dispatchKeyEvent", type="keyUp", **shared)
            self.settle()

    def resize(self, width: int, height: int, *, phone: bool = False) -> None:
        """The window's size; that of a `phone` is touched, too."""
        size = {"width": width, "height": height, "deviceScaleFactor": 1, "mobile": phone}
        self.send("Emulation.setDeviceMetricsOverride", **size)
        self.send("Emulation.setTouchEmulationEnabled", enabled=phone)

    def screenshot(self) -> bytes:
        """The window as a PNG."""
        return base64.b64decode(self.send("Page.captureScreenshot", format="png")["data"])

    def mouse(self, kind: str, place: list[float], clicks: int = 0) -> None:
        """One event of the mouse at a place of the window."""
        x, y = place
        pressed = {"button": "left", "clickCount": clicks} if clicks else {}
        self.send("Input.dispatchMouseEvent", type=kind, x=x, y=y, **pressed)

    def call(self, object_id: str, function: str, *values: Any, by_value: bool = True) -> Any:
        """What the function gives with the object as `this`."""
        done = self.send(
            "Runtime.callFunctionOn",
            objectId=object_id,
            functionDeclaration=function,
            arguments=[
                {"objectId": value.id} if isinstance(value, Element) else {"value": value}
                for value in values
            ],
            returnByValue=by_value,
            awaitPromise=True,
            userGesture=True,
        )
        return _value(done, by_value)

    def items(self, object_id: str) -> list[str]:
        """The objects in an array."""
        found = self.send("Runtime.getProperties", objectId=object_id, ownProperties=True)
        return [one["value"]["objectId"] for one in found["result"] if one["name"].isdigit()]

    def _object(self, expression: str) -> str:
        return str(_value(self.send("Runtime.evaluate", expression=expression), False))

    def _evaluate(self, expression: str) -> Any:
        done = self.send(
            "Runtime.evaluate",
            expression=expression,
            returnByValue=True,
            awaitPromise=True,
            userGesture=True,
        )
        return _value(done, True)

    def _step(self, way: str) -> None:
        self.execute_async_script(
            "const done = arguments[0];"
            "addEventListener('hashchange', () => setTimeout(done), {once: true});"
            f"history.{way}()"
        )

    def _loaded(self, before: int) -> None:
        self._until(lambda _: self._loads > before, "the page did not load")

    def _until(self, wanted: Callable[[dict[str, Any]], bool], what: str) -> dict[str, Any]:
        """Take messages until one is wanted."""
        if wanted({}):
            return {}
        give_up = time.monotonic() + WAIT_S
        while True:
            while b"\0" not in self._buffer:
                left = give_up - time.monotonic()
                if left < 0 or not select.select([self._in], [], [], left)[0]:
                    raise ChromiumError(f"{what}: no reply within {WAIT_S:.0f} s")
                part = os.read(self._in, 1 << 20)
                if not part:
                    raise ChromiumError(f"{what}: the browser has ended")
                self._buffer += part
            line, _, self._buffer = self._buffer.partition(b"\0")
            message = json.loads(line)
            self._note(message)
            if wanted(message):
                return dict(message)

    def _note(self, message: dict[str, Any]) -> None:
        params = message.get("params", {})
        match message.get("method"):
            case "Page.loadEventFired":
                self._loads += 1
            case "Page.javascriptDialogOpening":  # nothing goes on until it is answered
                self.dialogs.append(params["type"])
                self._call("Page.handleJavaScriptDialog", {"accept": True})
            case "Network.requestWillBeSent":
                self._requests.append(params["request"]["url"])
            case "Runtime.consoleAPICalled" | "Runtime.exceptionThrown" | "Log.entryAdded":
                self._said.append(json.dumps(params))


class Element:
    """A thing on the page."""

    def __init__(self, browser: Chromium, object_id: str) -> None:
        self._browser, self.id = browser, object_id

    @property
    def text(self) -> str:
        """Its text as it is seen."""
        return str(self._browser.call(self.id, _TEXT))

    def get_attribute(self, name: str) -> Any:
        """Its property of that name, or else its attribute."""
        script = """function (name) {
            const own = name === 'href' ? this[name] : undefined;
            return own ?? this.getAttribute(name);
        }"""
        return self._browser.call(self.id, script, name)

    def value_of_css_property(self, name: str) -> str:
        """As the browser computed it."""
        script = "function (name) { return getComputedStyle(this).getPropertyValue(name); }"
        return str(self._browser.call(self.id, script, name))

    def is_displayed(self) -> bool:
        """Whether it can be seen."""
        return bool(self._browser.call(self.id, _SEEN))

    def find_elements(self, by: str, value: str) -> list[Element]:
        """All such elements within this one."""
        script = f"function (value) {{ const root = this; return {_FOUND[by]}; }}"
        found = self._browser.call(self.id, script, value, by_value=False)
        return [Element(self._browser, one) for one in self._browser.items(found)]

    def find_element(self, by: str, value: str) -> Element:
        """The first of them. ChromiumError where there is none."""
        found = self.find_elements(by, value)
        if not found:
            raise ChromiumError(f"no element with the {by} {value!r}")
        return found[0]

    def hover(self) -> None:
        """Move the mouse over it."""
        self._browser.mouse("mouseMoved", self._place())
        self._browser.settle()

    def click(self) -> None:
        """Click it with the mouse."""
        place = self._place()
        self._browser.mouse("mouseMoved", place)
        self._browser.mouse("mousePressed", place, 1)
        self._browser.mouse("mouseReleased", place, 1)
        self._browser.settle()

    def press(self, key: str) -> None:
        """Press a key while it has the focus: "Enter", "ArrowRight" or " "."""
        self._browser.call(self.id, "function () { this.focus(); }")
        self._browser.press(key)

    def _place(self) -> list[float]:
        """Where it is, once it has rested: a page may still draw what is above it."""
        place = self._browser.call(self.id, _PLACE)
        while True:
            if place is None:
                raise ChromiumError("the element cannot be seen")
            time.sleep(0.02)
            before, place = place, self._browser.call(self.id, _PLACE)
            if place == before:
                return list(place)


def _pipe() -> list[int]:
    """The ends of a pipe to read from and to write to, numbered from 10."""
    ends = []
    for low in os.pipe():
        ends.append(fcntl.fcntl(low, fcntl.F_DUPFD_CLOEXEC, 10))
        os.close(low)
    return ends


def _value(done: dict[str, Any], by_value: bool) -> Any:
    if "exceptionDetails" in done:
        details = done["exceptionDetails"]
        raise ChromiumError(details.get("exception", {}).get("description", details["text"]))
    return done["result"].get("value") if by_value else done["result"]["objectId"]
