# SPDX-License-Identifier: Apache-2.0
"""Drives a headless Chromium over a pipe (the DevTools protocol, messages that end with NUL)."""

import json
import os
import select
import shutil
import signal
import subprocess
import time

CHROMIUM = shutil.which("chromium") or shutil.which("chromium-browser") or shutil.which("google-chrome")


class Browser:
    def __init__(self, folder, *options):
        command, self.write_to = os.pipe()
        self.read_from, answer = os.pipe()
        # The browser reads commands from descriptor 3 and answers on 4.
        shell = f'exec "$@" 3<&{command} 4>&{answer}'
        self.process = subprocess.Popen(["bash", "-c", shell, "bash", CHROMIUM, "--headless", "--no-sandbox",
                                         "--disable-gpu", "--remote-debugging-pipe", f"--user-data-dir={folder}",
                                         *options], pass_fds=(command, answer), stdout=subprocess.DEVNULL,
                                        stderr=subprocess.DEVNULL, start_new_session=True)
        os.close(command)
        os.close(answer)
        self.number, self.rest, self.events, self.session = 0, b"", [], None

    def _message(self, until):
        while b"\0" not in self.rest:
            if not select.select([self.read_from], [], [], max(0, until - time.monotonic()))[0]:
                raise TimeoutError("no answer from the browser")
            more = os.read(self.read_from, 1 << 20)
            if not more:
                raise EOFError("the browser ended")
            self.rest += more
        text, self.rest = self.rest.split(b"\0", 1)
        return json.loads(text)

    def call(self, method, timeout=90, **params):
        self.number += 1
        message = {"id": self.number, "method": method, "params": params}
        if self.session:
            message["sessionId"] = self.session
        os.write(self.write_to, json.dumps(message).encode() + b"\0")
        until = time.monotonic() + timeout
        while True:
            answer = self._message(until)
            if answer.get("id") == self.number:
                assert "error" not in answer, answer["error"]
                return answer["result"]
            self.events.append(answer)

    def open(self, address, width=1440, height=900):
        """Opens a page and waits until it is loaded. Events are kept: requests, errors, messages of the console."""
        target = self.call("Target.createTarget", url="about:blank")["targetId"]
        self.session = self.call("Target.attachToTarget", targetId=target, flatten=True)["sessionId"]
        for domain in ("Page", "Network", "Runtime", "Log"):
            self.call(f"{domain}.enable")
        self.call("Emulation.setDeviceMetricsOverride", width=width, height=height, deviceScaleFactor=1, mobile=False)
        self.events.clear()
        self.call("Page.navigate", url=address)
        until = time.monotonic() + 90
        while not any(e.get("method") == "Page.loadEventFired" for e in self.events):
            self.events.append(self._message(until))

    def run(self, script):
        """Returns the value of an expression in the page."""
        r = self.call("Runtime.evaluate", expression=script, returnByValue=True, awaitPromise=True)
        assert "exceptionDetails" not in r, r["exceptionDetails"]
        return r["result"].get("value")

    def key(self, key):
        codes = {"Tab": 9, "Enter": 13, "Escape": 27, " ": 32}
        for kind in ("keyDown", "keyUp"):
            text = ({"text": "\r" if key == "Enter" else key} if kind == "keyDown"
                    and (len(key) == 1 or key == "Enter") else {})
            if key in codes:
                text["windowsVirtualKeyCode"] = codes[key]
            self.call("Input.dispatchKeyEvent", type=kind, key=key, **text)

    def mouse(self, kind, x, y, buttons=0):
        self.call("Input.dispatchMouseEvent", type=kind, x=x, y=y,
                  button="left" if buttons or kind == "mouseReleased" else "none", buttons=buttons, clickCount=1)

    def requests(self):
        return [e["params"]["request"]["url"] for e in self.events if e.get("method") == "Network.requestWillBeSent"]

    def complaints(self):
        """Returns errors of scripts and of the content security policy, and what the page wrote to the console."""
        return [e for e in self.events
                if e.get("method") in ("Runtime.exceptionThrown", "Runtime.consoleAPICalled", "Log.entryAdded")]

    def close(self):
        os.close(self.write_to)
        try:
            os.killpg(self.process.pid, signal.SIGKILL)
        except ProcessLookupError:
            pass
        self.process.wait()
        os.close(self.read_from)
