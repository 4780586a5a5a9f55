# SPDX-License-Identifier: Apache-2.0
"""In the place of oasislmf.execution.resource_monitor: a CSV of the tools that a kernel script runs, and a report of it
with a table and six pictures.

The CSV is written by a process of its own as the tape grows, also when the interpreter is killed. It appears with its
first row, so that a script which empties its folder when it begins does not remove it."""

from __future__ import annotations

import logging
import os
import shutil
import tempfile
import warnings

from ...errors import Error, RecordingWarning
from ...recorder import Recording
from .. import _base
from ._markdown import write_markdown
from ._plots import (
    PICTURES,
    _plot_aggregate_cpu,
    _plot_aggregate_rss_vs_uss,
    _plot_aggregate_uss,
    _plot_cpu_time,
    _plot_instance_count,
    _plot_total_footprint,
    generate_plots,
)
from ._rows import aggregate_by_tool_and_time, compute_peak_total_uss, compute_stats, load_csv
from ._tools import CSV_HEADER, MONITORED_TOOLS, PROGRAM, TOOL_COLORS, Row

__all__ = ["CSV_HEADER", "MONITORED_TOOLS", "TOOL_COLORS", "ResourceMonitor"]

logger = logging.getLogger(__name__)

# The original's functions, for who calls them although their names say that they are private.
_aggregate_by_tool_and_time, _load_csv = aggregate_by_tool_and_time, load_csv
_compute_peak_total_uss, _compute_stats = compute_peak_total_uss, compute_stats
_generate_plots, _write_markdown = generate_plots, write_markdown
_PLOTS = (
    _plot_aggregate_cpu,
    _plot_aggregate_rss_vs_uss,
    _plot_aggregate_uss,
    _plot_cpu_time,
    _plot_instance_count,
    _plot_total_footprint,
)


class ResourceMonitor:
    """Records the tools that a script runs.

    output_dir: where resource_monitor.csv and resource_report/ are written. poll_interval: seconds between samples, at
    least 0.1. generate_report: whether stop() makes the report. log_root: of a report of all
    log_root/*/resource_monitor.csv together. original=True: all processes of the machine whose command mentions a tool,
    as the original takes them.
    """

    def __init__(
        self,
        output_dir: str,
        poll_interval: float = 1.0,
        generate_report: bool = True,
        log_root: str | None = None,
        *,
        original: bool | None = None,
    ) -> None:
        self.output_dir = output_dir
        self.poll_interval = max(0.1, float(poll_interval))
        self.generate_report = generate_report
        self.log_root = log_root
        self._original = _base.as_original(original)
        self._csv_path = os.path.join(output_dir, "resource_monitor.csv")
        self._bash_pid: int | None = None
        self._companion: _base.Companion | None = None
        self.recording: Recording | None = None
        """The recording: `monitor.recording.summary`, `.verdicts`, `.tape.tasks`."""

    def start(self, bash_pid: int) -> None:
        """Begins to record what this script runs."""
        self._bash_pid = bash_pid
        self._companion = _base.Companion.csv(os.path.abspath(self._csv_path), "oasislmf", "process", append=True)
        with warnings.catch_warnings(record=True) as caught:
            warnings.simplefilter("always", RecordingWarning)
            self.recording = self._record(bash_pid)
        _base.keep(self, self.recording, self._companion)
        for warning in caught:
            logger.warning("Resource monitor: %s", warning.message)
        if self.recording.path is not None:
            self._companion.begin(self.recording.tape)
        logger.info(
            "Resource monitor started (pid=%s, interval=%.1fs, csv=%s)", bash_pid, self.poll_interval, self._csv_path
        )

    def _record(self, bash_pid: int) -> Recording:
        if self._original:
            rules = [f"{tool}=\\b{tool}\\b" for tool in sorted(MONITORED_TOOLS)]
            return _base.record_machine(self.poll_interval, *(part for rule in rules for part in ("--task", rule)))
        rules_of = {tool: PROGRAM % tool for tool in sorted(MONITORED_TOOLS)}
        return _base.record(bash_pid, self.poll_interval, tasks=rules_of)

    def stop(self) -> None:
        """Ends the recording and makes the report."""
        if self._companion is None or self.recording is None:
            return
        _base.release(self)
        self.recording.stop()
        if not self._companion.end(self.poll_interval + 5.0):
            logger.warning("Resource monitor: %s is not complete yet", self._csv_path)
        self._companion = None
        logger.info("Resource monitor stopped, csv=%s", self._csv_path)
        if self.generate_report:
            self._generate_report()

    # ---- the report ----

    def _find_all_csvs(self) -> list[str]:
        """The CSVs in the folders of log_root."""
        if not self.log_root or not os.path.isdir(self.log_root):
            logger.info("Resource monitor: log_root '%s' is no directory", self.log_root)
            return []
        paths = [
            os.path.join(self.log_root, name, "resource_monitor.csv") for name in sorted(os.listdir(self.log_root))
        ]
        found = [path for path in paths if os.path.isfile(path)]
        logger.info("Resource monitor: %d CSV(s) found to combine", len(found))
        return found

    def _generate_report(self) -> None:
        """Makes resource_report/: the table, and the pictures."""
        root = self.log_root or self.output_dir
        paths = self._find_all_csvs() if self.log_root else [self._csv_path] * os.path.isfile(self._csv_path)
        rows: list[Row] = []
        for number, path in enumerate(paths):
            rows.extend({**row, "source": number} for row in load_csv(path))
        if not rows:
            logger.info("No rows in a resource monitor CSV under %s, skipping report", root)
            return
        folder = os.path.join(root, "resource_report")
        os.makedirs(folder, exist_ok=True)
        kept = not self._original and self.recording is not None and self.recording.path is not None
        memory = _base.memory_mib(self.recording.tape if self.recording is not None and kept else None)
        plots = generate_plots(rows, folder, memory, self._original) or self._plots_of_tape(folder)
        text = write_markdown(
            os.path.join(root, "resource_monitor.csv"),
            folder,
            compute_stats(rows, self._original),
            plots,
            len(rows),
            memory,
            compute_peak_total_uss(rows, self._original),
        )
        logger.info("Resource monitor report: %s (%d samples, %d plots)", text, len(rows), len(plots))

    def _plots_of_tape(self, folder: str) -> dict[str, str]:
        """Without matplotlib: the figures of `baro report`, of this monitor's own tape."""
        if self._original or self.log_root or self.recording is None or self.recording.path is None:
            return {}
        from ..._programs import execute

        found = {}
        with tempfile.TemporaryDirectory(prefix="barograph-") as made:
            try:
                execute("report", "--force", "-o", made + "/report/", self.recording.path)
            except Error as error:
                logger.warning("Resource monitor: no pictures: %s", error)
                return {}
            for key, name in PICTURES.items():
                if os.path.exists(os.path.join(made, "report", name)):
                    found[key] = shutil.copy(os.path.join(made, "report", name), os.path.join(folder, name))
        return found
