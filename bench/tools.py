# SPDX-License-Identifier: Apache-2.0
"""The tools that are compared: how each watches a process and its descendants, and what it reports."""

import http.client
import json
import os
import pathlib
import shutil
import signal
import socket
import subprocess
import threading
import time

from measure import popen

HERE = pathlib.Path(__file__).resolve().parent
PYTHON = "/usr/bin/python3"


class Tool:
    """Attached to a running process. whole_machine: it reads all processes of the machine, so its cost is shared among
    these."""

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
        """Returns cpu_s and peak_rss as far as the tool reports them."""
        return {}


class Baro(Tool):
    name = "baro"

    def __init__(self, binary, *options):
        self.binary, self.options = binary, options

    def argv(self, pid, interval, folder, cheap):
        few = ["--metrics", "cpu,rss,io_read,io_write,io_rchar,io_wchar,faults_minor"] if cheap else []
        return [
            self.binary,
            "record",
            "--pid",
            pid,
            "-i",
            f"{int(interval * 1000)}ms",
            "-q",
            "-o",
            folder / "t.baro",
            *few,
            *self.options,
        ]

    def summary(self, tape=None):
        done = subprocess.run(
            [self.binary, "summary", "--json", tape or self.folder / "t.baro"], capture_output=True, check=True
        )
        return json.loads(done.stdout)


class Psutil(Tool):
    def __init__(self, kind, note=""):
        self.kind = kind
        self.name = {"psutil": "psutil loop", "proc": "/proc loop in Python"}[kind] + (f", {note}" if note else "")

    def there(self):
        return (
            self.kind == "proc"
            or subprocess.run([PYTHON, "-c", "import psutil"], capture_output=True, check=False).returncode == 0
        )

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
    """Returns all tools that can watch a running process."""
    return [
        Baro(binary, "--no-host"), # the question is about processes
        Psutil("psutil"),
        Psutil("proc"),
        Program("pidstat", "pidstat", "-u", "-r", "-d", "-v", "-p", "ALL", "SECONDS"),
        Program("top", "top", "-b", "-d", "SECONDS"),
        Program("atop", "atop", "-w", "FOLDER/atop", "SECONDS"),
    ]


# ---- of the machine alone: no process is read ------------------------------------------------------------------------


class BaroHost(Baro):
    def argv(self, pid, interval, folder, cheap):
        return [
            self.binary,
            "record",
            "--host",
            "-i",
            f"{int(interval * 1000)}ms",
            "-q",
            "-o",
            folder / "t.baro",
            *self.options,
        ]


class HostFloor(Tool):
    name = "floor: the files read, not parsed"

    def __init__(self, build):
        self.program = build / "bench" / "host_floor"

    def argv(self, pid, interval, folder, cheap):
        return [self.program, int(interval * 1e6)]


class PsutilHost(Psutil):
    def __init__(self):
        super().__init__("psutil")

    def argv(self, pid, interval, folder, cheap):
        return [PYTHON, HERE / "peer_host.py", interval]


class NodeExporter(Program):
    """Scraped once per interval, over loopback and one connection, as Prometheus does; the cost of scraping is not
    counted."""

    def __init__(self):
        super().__init__(
            "node_exporter", "prometheus-node-exporter", "--web.listen-address=127.0.0.1:PORT", "--log.level=error"
        )

    def argv(self, pid, interval, folder, cheap):
        with socket.create_server(("127.0.0.1", 0)) as s:
            self.port = s.getsockname()[1]
        return [w.replace("PORT", str(self.port)) for w in self.words]

    def start(self, pid, interval, folder, group=None, uid=None, cheap=False):
        super().start(pid, interval, folder, group, uid, cheap)
        self.over = threading.Event()
        self.scraper = threading.Thread(target=self.scrape, args=(interval,))
        self.scrapes = 0
        self.scraper.start()

    def scrape(self, interval):
        connection = http.client.HTTPConnection("127.0.0.1", self.port)
        due = time.monotonic()
        while not self.over.is_set():
            try:
                connection.request("GET", "/metrics")
                connection.getresponse().read()
                self.scrapes += 1
            except OSError: # it is still starting
                connection.close()
            due += interval
            self.over.wait(max(0, due - time.monotonic()))
        connection.close()

    def stop(self):
        self.over.set()
        self.scraper.join()
        super().stop()


def sadc():
    places = ("/usr/lib/sysstat/sadc", "/usr/lib/sa/sadc", "/usr/lib64/sa/sadc")
    return next((p for p in places if os.path.exists(p)), places[0])


def host_watchers(binary, interval):
    """Returns all tools that can watch the machine itself. Some can't read more often than once a second."""
    every = [BaroHost(binary), PsutilHost(), NodeExporter()]
    return every if interval < 1 else [
        *every,
        Program("sar (sadc)", sadc(), "SECONDS", "FOLDER/sa"),
        Program("vmstat (far less data)", "vmstat", "SECONDS"),
        Program("atop, processes too", "atop", "-w", "FOLDER/atop", "SECONDS"),
    ]


def wait_ready(process):
    line = process.stdout.readline()
    assert line.strip() == "ready", line
    time.sleep(0.5)


def machine():
    model = next(
        (line.split(":")[1].strip() for line in open("/proc/cpuinfo") if line.startswith("model name")),
        os.uname().machine,
    )
    return f"{os.cpu_count()} CPUs ({model}), Linux {os.uname().release}"
