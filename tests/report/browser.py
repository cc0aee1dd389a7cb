"""A headless Chromium that does what it is told, over a pipe: no port, no further package."""

import base64
import fcntl
import json
import os
import shutil
import subprocess

NAMES = ("chromium", "chromium-browser", "google-chrome", "chrome")


def find_browser():
    return next(filter(None, map(shutil.which, NAMES)), None)


class Browser:
    """One page in a browser; the protocol is Chromium's own."""

    def __init__(self, folder):
        ours, theirs = os.pipe(), os.pipe()  # we write to ours[1], and read theirs[0]

        def wire():
            high = [fcntl.fcntl(end, fcntl.F_DUPFD, 10) for end in (ours[0], theirs[1])]
            os.dup2(high[0], 3)
            os.dup2(high[1], 4)

        flags = [
            *("--headless", "--no-sandbox", "--disable-gpu", "--disable-quic", "--no-first-run"),
            *("--disable-background-networking", "--disable-component-update", "--disable-sync"),
            *("--hide-scrollbars", "--remote-debugging-pipe", f"--user-data-dir={folder}"),
        ]
        self.process = subprocess.Popen(
            [find_browser(), *flags], stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL,
            stderr=subprocess.DEVNULL, preexec_fn=wire, close_fds=False,
            env={**os.environ, "HOME": str(folder)},
        )  # fmt: skip
        os.close(ours[0])
        os.close(theirs[1])
        self._out, self._in = os.fdopen(ours[1], "wb"), os.fdopen(theirs[0], "rb")
        self._n, self._session = 0, None
        target = self.call("Target.createTarget", url="about:blank")["targetId"]
        found = self.call("Target.attachToTarget", targetId=target, flatten=True)
        self._session = found["sessionId"]
        self.call("Page.enable")

    def _message(self):
        data = bytearray()
        while (sign := self._in.read(1)) != b"\0":
            if not sign:
                raise EOFError("the browser has gone")
            data += sign
        return json.loads(data)

    def call(self, method, **parameters):
        self._n += 1
        told = {"id": self._n, "method": method, "params": parameters}
        if self._session is not None:
            told["sessionId"] = self._session
        self._out.write(json.dumps(told).encode() + b"\0")
        self._out.flush()
        while True:
            message = self._message()
            if message.get("id") == self._n:
                assert "error" not in message, message
                return message["result"]

    def open(self, path, width=1024, height=900):
        self.call(
            "Emulation.setDeviceMetricsOverride", width=width, height=height, mobile=False,
            deviceScaleFactor=1,
        )  # fmt: skip
        self.call("Page.navigate", url=path.as_uri())
        while self.evaluate("document.readyState") != "complete":
            pass

    def evaluate(self, code):
        found = self.call("Runtime.evaluate", expression=code, returnByValue=True)
        assert "exceptionDetails" not in found, found
        return found["result"].get("value")

    def move_to(self, x, y):
        self.call("Input.dispatchMouseEvent", type="mouseMoved", x=x, y=y)

    def media(self, media="screen", scheme="light"):
        features = [{"name": "prefers-color-scheme", "value": scheme}]
        self.call("Emulation.setEmulatedMedia", media=media, features=features)

    def shot(self, path, height=None):
        more = {}
        if height is not None:
            size = self.call("Page.getLayoutMetrics")["cssContentSize"]
            clip = {"x": 0, "y": 0, "width": size["width"], "scale": 1}
            clip["height"] = min(size["height"], height)
            more = {"captureBeyondViewport": True, "clip": clip}
        data = self.call("Page.captureScreenshot", **more)["data"]
        path.write_bytes(base64.b64decode(data))

    def close(self):
        self.process.kill()
        self.process.wait(timeout=20)
        self._out.close()
        self._in.close()
