# SPDX-License-Identifier: Apache-2.0
"""Who is asked: how each tool watches a process and its descendants, and what it then says."""

import json
import os
import pathlib
import shutil
import signal
import subprocess
import time

from measure import popen

HERE = pathlib.Path(__file__).resolve().parent
PYTHON = "/usr/bin/python3"


class Tool:
    """Attached to a running process. looks_at: it sees all processes of the machine, so its cost is shared among these."""

    name = ""
    whole_machine = False

    def there(self):
        return True

    def argv(self, pid, interval, folder, cheap):
        raise NotImplementedError

    def start(self, pid, interval, folder, group=None, uid=None, cheap=False):
        self.folder = folder
        self.process = popen(self.argv(pid, interval, folder, cheap), uid, group, stdout=open(folder / "out", "w"),
                             stderr=subprocess.DEVNULL, cwd=folder)

    def stop(self):
        self.process.send_signal(signal.SIGINT)
        try:
            self.process.wait(20)
        except subprocess.TimeoutExpired:
            self.process.kill()
            self.process.wait()

    def said(self):
        """cpu_s and peak_rss as far as it tells them."""
        return {}


class Baro(Tool):
    name = "baro"

    def __init__(self, binary, *options):
        self.binary, self.options = binary, options

    def argv(self, pid, interval, folder, cheap):
        few = ["--metrics", "cpu,rss,io_read,io_write,io_rchar,io_wchar,faults_minor"] if cheap else []
        return [self.binary, "record", "--pid", pid, "-i", f"{int(interval * 1000)}ms", "-q", "-o", folder / "t.baro", *few, *self.options]

    def summary(self, tape=None):
        done = subprocess.run([self.binary, "summary", "--json", tape or self.folder / "t.baro"], capture_output=True, check=True)
        return json.loads(done.stdout)


class Psutil(Tool):
    def __init__(self, kind):
        self.kind = kind
        self.name = {"psutil": "psutil loop", "proc": "/proc loop in Python"}[kind]

    def there(self):
        return self.kind == "proc" or subprocess.run([PYTHON, "-c", "import psutil"], capture_output=True, check=False).returncode == 0

    def argv(self, pid, interval, folder, cheap):
        return [PYTHON, HERE / "peer_psutil.py", self.kind, pid, interval, *(["cheap"] if cheap else [])]

    def said(self):
        return json.loads((self.folder / "out").read_text() or "{}")


class Program(Tool):
    whole_machine = True

    def __init__(self, name, *argv):
        self.name, self.words = name, argv

    def there(self):
        return shutil.which(self.words[0]) is not None

    def argv(self, pid, interval, folder, cheap):
        at = f"{int(interval)}" if interval >= 1 else f"{interval}"
        return [w.replace("SECONDS", at).replace("FOLDER", str(folder)) for w in self.words]


def watchers(binary):
    """All that can watch what runs already."""
    return [
        Baro(binary, "--no-host"), # they look at processes
        Psutil("psutil"),
        Psutil("proc"),
        Program("pidstat", "pidstat", "-u", "-r", "-d", "-v", "-p", "ALL", "SECONDS"),
        Program("top", "top", "-b", "-d", "SECONDS"),
        Program("atop", "atop", "-w", "FOLDER/atop", "SECONDS"),
    ]


def wait_ready(process):
    line = process.stdout.readline()
    assert line.strip() == "ready", line
    time.sleep(0.5)


def machine():
    model = next((line.split(":")[1].strip() for line in open("/proc/cpuinfo") if line.startswith("model name")), os.uname().machine)
    return f"{os.cpu_count()} CPUs ({model}), Linux {os.uname().release}"
