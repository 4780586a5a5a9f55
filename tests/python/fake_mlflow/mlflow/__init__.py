# SPDX-License-Identifier: Apache-2.0
"""A client like MLflow's whose store is a file of lines, one for each point: a point that is sent twice is there twice.

$FAKE_MLFLOW is a folder. What stands in its file `plan`, one word a line, happens at the calls of log_batch(), in turn:
ok, kill (before anything is written), kill-half (of the points), kill-after, lost (written, but the answer is an
error), half-lost, error, refused, hostile, hang."""

import base64
import fcntl
import json
import os
import signal
import time

from . import entities

FOLDER = os.environ.get("FAKE_MLFLOW", "")


class MlflowException(Exception):
    def __init__(self, message, error_code="INTERNAL_ERROR"):
        super().__init__(message)
        self.error_code = error_code


def _next_of_plan():
    try:
        with open(f"{FOLDER}/plan", "r+", encoding="ascii") as file:
            fcntl.flock(file, fcntl.LOCK_EX)
            lines = file.read().split()
            file.seek(0)
            file.truncate()
            file.write("\n".join(lines[1:]))
    except FileNotFoundError:
        return "ok"
    return lines[0] if lines else "ok"


class _Data:
    def __init__(self):
        self._metric_objs, self.tags, self.params = [], {}, {}


class _Info:
    def __init__(self, run_id):
        self.run_id, self.status, self.start_time = run_id, "RUNNING", 0


class _Run:
    def __init__(self, run_id):
        self.info, self.data = _Info(run_id), _Data()


class _Experiment:
    experiment_id = "0"


class _Page(list):
    token = None


def set_tracking_uri(uri):
    pass


class MlflowClient:
    def __init__(self, tracking_uri=None):
        self.uri = tracking_uri or os.environ.get("MLFLOW_TRACKING_URI")
        with open(f"{FOLDER}/clients", "a", encoding="ascii") as file:
            file.write(f"{os.getpid()} {tracking_uri}\n")

    def _lines(self):
        try:
            with open(f"{FOLDER}/store", encoding="utf-8") as file:
                return [json.loads(line) for line in file]
        except FileNotFoundError:
            return []

    def _write(self, rows):
        with open(f"{FOLDER}/store", "a", encoding="utf-8") as file:
            file.write("".join(json.dumps(row, ensure_ascii=False) + "\n" for row in rows))

    def log_batch(self, run_id, metrics=(), params=(), tags=()):
        assert len(metrics) <= 1000 and len(params) <= 100 and len(tags) <= 100
        rows = [["metric", run_id, m.key, m.value, m.timestamp, m.step] for m in metrics]
        rows += [["param", run_id, p.key, p.value] for p in params] + [["tag", run_id, t.key, t.value] for t in tags]
        what = _next_of_plan() if metrics else "ok"
        if what == "hang":
            time.sleep(3600)
        if what == "error":
            raise ConnectionError("nobody is there")
        if what == "hostile":
            said = {"authorization": ["Basic " + base64.b64encode(b"me:s3cr3t").decode()]}
            raise ConnectionError(f"\x1b[2J\u202eno answer of {self.uri}/api?token=s3cr3t to {said}")
        if what == "refused":
            raise MlflowException("no such run", "RESOURCE_DOES_NOT_EXIST")
        if what in ("kill", "kill-half", "kill-after"):
            self._write(rows[: {"kill": 0, "kill-half": len(rows) // 2, "kill-after": len(rows)}[what]])
            os.kill(os.getpid(), signal.SIGKILL)
        self._write(rows[: len(rows) // 2 if what == "half-lost" else len(rows)])
        if what in ("lost", "half-lost"):
            raise ConnectionError("the answer was lost")

    def get_run(self, run_id):
        run, newest = _Run(run_id), {}
        for row in self._lines():
            if row[1] != run_id:
                continue
            if row[0] == "metric":
                metric = entities.Metric(row[2], row[3], row[4], row[5])
                old = newest.get(row[2])
                if old is None or (metric.step, metric.timestamp) >= (old.step, old.timestamp):
                    newest[row[2]] = metric
            elif row[0] in ("tag", "param"):
                getattr(run.data, row[0] + "s")[row[2]] = row[3]
            elif row[0] == "end":
                run.info.status = row[2]
        run.data._metric_objs = list(newest.values())
        return run

    def get_metric_history(self, run_id, key):
        rows = [row for row in self._lines() if row[:3] == ["metric", run_id, key]]
        return [entities.Metric(row[2], row[3], row[4], row[5]) for row in rows]

    def search_experiments(self, page_token=None):
        page = _Page([_Experiment()])
        page.token = "more" if os.path.exists(f"{FOLDER}/endless") else None
        return page

    def search_runs(self, ids, filter_string="", max_results=100):
        session = filter_string.rpartition("= ")[2].strip("'")
        return [self.get_run(row[1]) for row in self._lines() if row[0] == "tag" and row[3] == session]

    def create_run(self, experiment_id, start_time=None, tags=None):
        run = _Run("made")
        self._write([["run", "made", start_time], *(["tag", "made", k, v] for k, v in tags.items())])
        return run

    def set_terminated(self, run_id, status, end_time):
        self._write([["end", run_id, status, end_time]])

    def log_artifact(self, run_id, path, where):
        self._write([["file", run_id, os.path.basename(path), where]])

    log_artifacts = log_artifact
