# SPDX-License-Identifier: Apache-2.0
"""A real MLflow for tests: an interpreter that has it, its server on loopback, a client that reads back, and a proxy that
does what networks do."""

import http.client
import http.server
import json
import os
import signal
import socket
import subprocess
import sys
import threading
import time
import urllib.request

import environments
import pytest

_STARTS_WITHIN = 120  # seconds


def _has_mlflow(python):
    probe = (
        "import importlib.util as u, sys; sys.exit(not all(u.find_spec(n) for n in ('mlflow', 'sqlalchemy', 'flask')))"
    )
    return subprocess.run([python, "-c", probe], check=False).returncode == 0


def python():
    """An interpreter that has MLflow: $BARO_MLFLOW_PYTHON, this one, or one of an environment that is made once and
    kept in the user's cache. Skips where that is not to be had."""
    given = os.environ.get("BARO_MLFLOW_PYTHON")
    for candidate in [given] if given else [sys.executable]:
        if _has_mlflow(candidate):
            return candidate
    if given:
        pytest.skip(f"{given} can't import MLflow")
    return str(environments.mlflow() / "bin" / "python")


def free_port():
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        return probe.getsockname()[1]


def environment(**more):
    quiet = {"MLFLOW_DISABLE_TELEMETRY": "true", "DO_NOT_TRACK": "true", "GIT_PYTHON_REFRESH": "quiet",
             "PYTHONWARNINGS": "ignore", "MLFLOW_ALLOW_FILE_STORE": "true"}
    left_out = ("MLFLOW_RUN_ID", "MLFLOW_EXPERIMENT_ID", "MLFLOW_EXPERIMENT_NAME", "http_proxy", "HTTP_PROXY")
    left_out += ("PYTHONDONTWRITEBYTECODE",)  # importing MLflow takes twice the CPU time without
    return {**{k: v for k, v in os.environ.items() if k not in left_out}, **quiet, "NO_PROXY": "127.0.0.1", **more}


class Server:
    """mlflow server, in a session of its own."""

    def __init__(self, interpreter, folder, store=None):
        self.port, self.folder = free_port(), folder
        self.uri = f"http://127.0.0.1:{self.port}"
        self.log = folder / "server.log"
        self.store = store = store or f"sqlite:///{folder}/mlflow.db"
        argv = [interpreter, "-m", "mlflow", "server", "--backend-store-uri", store, "--artifacts-destination",
                str(folder / "artifacts")]
        argv += ["--host", "127.0.0.1", "--port", str(self.port), "--workers", "1"]
        with open(self.log, "wb") as log:
            self.process = subprocess.Popen(
                argv, stdin=subprocess.DEVNULL, stdout=log, stderr=log, start_new_session=True, cwd=folder,
                env=environment(MLFLOW_SERVER_ENABLE_JOB_EXECUTION="false"),
            )
        end = time.monotonic() + _STARTS_WITHIN
        while True:
            try:
                with urllib.request.urlopen(f"{self.uri}/health", timeout=5) as answer:
                    if answer.status == 200:
                        return
            except OSError:
                pass
            if self.process.poll() is not None or time.monotonic() > end:
                self.stop()
                pytest.fail(f"the server does not start: {self.log.read_text(errors='replace')[-2000:]}")
            time.sleep(0.1)

    def stop(self):
        try:
            os.killpg(self.process.pid, signal.SIGKILL)
        except ProcessLookupError:
            pass
        self.process.wait()


_CLIENT = """
import json, os, sys, time
from barograph.mlflow._follow import follow
import mlflow, mlflow.entities, mlflow.tracking.client
mlflow.set_tracking_uri(sys.argv[1])  # artifacts of MLflow 2.9 are looked for there
client = mlflow.MlflowClient()
store = mlflow.MlflowClient(sys.argv[2]) if sys.argv[2:] else client
began = {}
def run(run_id, prefix="", of=None):
    found = client.get_run(run_id)
    keys = [key for key in found.data.metrics if key.startswith(prefix)]
    histories = [(of or store).get_metric_history(run_id, key) for key in keys]
    metrics = sorted([m.key, m.value, m.timestamp, m.step] for history in histories for m in history)
    files = [f.path for f in client.list_artifacts(run_id, "barograph")]
    info = found.info
    return {"metrics": metrics, "tags": found.data.tags, "params": found.data.params, "files": files,
            "status": info.status, "start": info.start_time, "end": info.end_time, "experiment": info.experiment_id}
def served(run_id):
    return run(run_id, of=client)
def state(run_id):
    return client.get_run(run_id).info.status, [f.path for f in client.list_artifacts(run_id, "barograph")]
def new():
    return client.create_run("0").info.run_id
def find(text):
    ids = [e.experiment_id for e in client.search_experiments()]
    return [r.info.run_id for r in client.search_runs(ids, text, max_results=1000)]
def begin(request, environment):
    began_at, pid = time.monotonic(), os.fork()
    if pid == 0:
        os.environ.update(environment, MLFLOW_TRACKING_URI=request["uri"])
        with open(os.devnull, "w") as null:
            os.dup2(null.fileno(), 1)
        os._exit(follow(request))
    began[pid] = began_at
    return pid
def end(pid):
    status = os.waitstatus_to_exitcode(os.waitpid(pid, 0)[1])
    return status, time.monotonic() - began.pop(pid)
for line in sys.stdin:
    name, *arguments = json.loads(line)
    print(json.dumps(globals()[name](*arguments)), flush=True)
"""


class Client:
    """MLflow's own client in a process of its own, which has imported it once: 2 s of CPU time. client("run", ID) and the
    like read; points come from the server's store, if that is given: a request for each metric is most of what tests
    cost. client("begin", request, environment) is a follower as its fork, and client("end", pid) waits for it: a kill
    hits what sends, not the import before it."""

    def __init__(self, interpreter, uri, *store):
        self.process = subprocess.Popen([interpreter, "-c", _CLIENT, uri, *store], stdin=subprocess.PIPE,
                                        stdout=subprocess.PIPE, text=True, env=environment())

    def __call__(self, *call):
        self.process.stdin.write(json.dumps(call) + "\n")
        self.process.stdin.flush()
        line = self.process.stdout.readline()
        assert line, "the client ended"
        return json.loads(line)

    def stop(self):
        self.process.stdin.close()
        self.process.wait()
        self.process.stdout.close()


class Proxy:
    """Between a client and the server. What is in `plan` happens to the next batches, in turn; then all goes through.

    cut, cut-after: the connection ends without an answer, before or after the server has got it. stall, stall-after: no
    answer, for longer than the client waits. 429, 500, 500-after, garbage, garbage-after, half-after (of an answer).
    on_batch(number, when): called before and after a batch goes to the server."""

    def __init__(self, server, plan=(), on_batch=None):
        self.plan, self.batches, self.on_batch = list(plan), 0, on_batch
        self.largest = 0  # batch, in points
        self._lock, self._stopped = threading.Lock(), threading.Event()
        proxy = self

        class Handler(http.server.BaseHTTPRequestHandler):
            protocol_version = "HTTP/1.1"

            def handle_any(self):
                proxy._handle(self, server.port)

            do_GET = do_POST = do_PUT = do_PATCH = do_DELETE = handle_any

            def log_message(self, *_):
                pass

        class Listener(http.server.ThreadingHTTPServer):
            daemon_threads = True

            def handle_error(self, *_):
                pass  # a client that was killed

        self._make = lambda port: Listener(("127.0.0.1", port), Handler)
        self._listener = None
        self.port = 0
        self.open()
        self.uri = f"http://127.0.0.1:{self.port}"

    def open(self):
        self._listener = self._make(self.port)
        self.port = self._listener.server_address[1]
        threading.Thread(target=self._listener.serve_forever, args=(0.05,), daemon=True).start()

    def close(self):
        """The server is gone: a connection is refused."""
        if self._listener:
            self._listener.shutdown()
            self._listener.server_close()
        self._listener = None

    def stop(self):
        self._stopped.set()
        self.close()

    def _handle(self, request, port):
        body = request.rfile.read(int(request.headers.get("Content-Length") or 0))
        what, number = "", 0
        if request.path.endswith("/log-batch") and json.loads(body).get("metrics"):
            with self._lock:
                self.batches += 1
                number = self.batches
                self.largest = max(self.largest, len(json.loads(body)["metrics"]))
                what = self.plan.pop(0) if self.plan else ""
            if self.on_batch:
                self.on_batch(number, "before")
        if what in ("", "ok") or what.endswith("-after"):
            status, kind, answer = self._forward(request, port, body)
            if number and self.on_batch:
                self.on_batch(number, "after")
        else:
            status, kind, answer = 200, "application/json", b"{}"
        self._answer(request, what.removesuffix("-after"), status, kind, answer)

    @staticmethod
    def _forward(request, port, body):
        connection = http.client.HTTPConnection("127.0.0.1", port, timeout=60)
        headers = {k: v for k, v in request.headers.items()
                   if k.lower() not in ("host", "connection", "content-length", "transfer-encoding")}
        connection.request(request.command, request.path, body, headers)
        answer = connection.getresponse()
        data = answer.read()
        connection.close()
        return answer.status, answer.headers.get("Content-Type", "text/plain"), data

    def _answer(self, request, what, status, kind, answer):
        request.close_connection = True
        if what == "cut":
            return
        if what == "stall":
            self._stopped.wait(10)
            return
        if what == "garbage":
            kind, answer = "text/html", b"<html>\xff\x00 log in to the hotel's network"
        elif what.isdigit():
            status, answer = int(what), b'{"error_code": "TEMPORARILY_UNAVAILABLE", "message": "later"}'
        request.send_response(status)
        request.send_header("Content-Type", kind)
        request.send_header("Content-Length", str(len(answer) + (100 if what == "half" else 0)))
        request.end_headers()
        request.wfile.write(answer[: len(answer) // 2] if what == "half" else answer)
