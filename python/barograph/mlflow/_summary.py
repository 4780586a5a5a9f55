# SPDX-License-Identifier: Apache-2.0
"""What a run of MLflow has of a whole recording: facts as metrics, limits, host and versions as parameters and tags,
and files."""

from __future__ import annotations

import json
import os
from typing import Any
from collections.abc import Iterator

from ..errors import Error
from ..tape import Tape
from ._facts import facts_of

_LONGEST_TAG, _LONGEST_PARAM = 5000, 500  # characters; what all versions of MLflow take
_LARGEST_TAPE = 1 << 30  # bytes
FOLDER = "barograph"


def utf8(text: str) -> str:
    """What a server can store: a command line may have any bytes."""
    return text.encode("utf-8", "surrogateescape").decode("utf-8", "replace")


def metrics_of(tape: Tape, wish: Any = None) -> dict[str, float]:
    return {f"summary/{name}": float(value) / scale for name, value, scale in facts_of(tape, wish)}


def params_of(tape: Tape) -> dict[str, str]:
    header, limits = tape.header, tape.summary["limits"]
    found: dict[str, Any] = {"cpu_model": header.cpu_model}
    found |= {"cpus": header.cpus, "memory_bytes": header.memory_bytes}
    for name in ("memory_bytes", "cores", "pids"):
        found[f"limit_{name}"] = limits.get(name)
    return {f"baro.{k}": utf8(str(v))[:_LONGEST_PARAM] for k, v in found.items() if v not in (None, "")}


def tags_of(tape: Tape, wish: Any = None) -> dict[str, str]:
    header, end = tape.header, tape.summary.exit
    marked = {name: getattr(value, "mark", "") for name, value, _ in facts_of(tape, wish)}
    heavy = [str(v) for v in tape.verdicts if v.weight != "note"]
    found = {
        "version": header.version,
        "host": header.host,
        "kernel": header.kernel,
        "command": " ".join(header.argv),
        "job_id": header.job_id,
        "tape": os.path.basename(tape.path),
        "state": tape.state,
        "exit_status": str(int(end.status)) if isinstance(end.status, int) else "",
        "signal": str(end.signal) if end.signal else "",
        "verdict": " ".join(heavy),
        "lower_bounds": " ".join(name for name, mark in marked.items() if mark == "at least "),
        "estimates": " ".join(name for name, mark in marked.items() if mark == "about "),
    }
    return {f"baro.{k}": utf8(v)[:_LONGEST_TAG] for k, v in found.items() if v}


def artifacts_of(tape: Tape, folder: str) -> Iterator[tuple[str, str]]:
    """Files, and where they go."""
    for name, content in (
        ("verdicts.json", [_verdict(v) for v in tape.verdicts]),
        ("summary.json", tape.summary.to_dict()),
    ):
        path = os.path.join(folder, name)
        with open(path, "w", encoding="utf-8") as file:
            json.dump(content, file, indent=1)
        yield path, FOLDER
    try:
        yield tape.report(os.path.join(folder, "report.html")), FOLDER
    except Error:
        pass  # the program that makes reports is not installed
    if _size(tape.path) > _LARGEST_TAPE:
        return
    if not os.path.isdir(tape.path):
        yield tape.path, FOLDER
        return
    for entry in os.scandir(tape.path):  # links lead to what is no part of the tape
        if entry.is_file(follow_symlinks=False):
            yield entry.path, f"{FOLDER}/{os.path.basename(tape.path)}"


def _verdict(verdict: Any) -> dict[str, Any]:
    return {
        "rule": verdict.rule,
        "weight": verdict.weight,
        "title": verdict.title,
        "advice": verdict.advice,
        "phase": verdict.phase,
        "begin_ns": verdict.begin_ns,
        "end_ns": verdict.end_ns,
        "evidence": [{"name": e.name, "value": e.value, "text": e.text} for e in verdict.evidence],
    }


def _size(path: str) -> int:
    if not os.path.isdir(path):
        return os.path.getsize(path)
    return sum(entry.stat().st_size for entry in os.scandir(path) if entry.is_file())
