# SPDX-License-Identifier: Apache-2.0
"""In the place of stouputils.mlflow.process_metrics_monitor: what a process and its children use, as metrics of an
MLflow run. MLflow is fed from the tape by a process of its own: a server that is slow or down costs no sample, and what
was measured is logged also when the interpreter is killed."""

from __future__ import annotations

import atexit
import json
import os
import sys
import threading
import time
from importlib import import_module
from types import TracebackType
from typing import Any

from ..errors import warn
from ..recorder import Recording
from ..sample import Sample
from . import _base

METRICS = (
    "cpu_usage_percentage",
    "memory_rss_megabytes",
    "memory_vms_megabytes",
    "memory_uss_megabytes",
    "memory_usage_percentage",
    "num_threads",
    "num_fds",
    "io_read_megabytes",
    "io_write_megabytes",
)


class Collector:
    """Makes the nine metrics of successive samples. One that is absent has no key."""

    def __init__(self, max_memory_megabytes: float, cores: float | None, zeros: bool) -> None:
        self.max_memory_megabytes, self.cores, self.zeros = max_memory_megabytes, cores, zeros
        self._base: dict[str, float] | None = None
        self._before: _base.Usage | None = None

    def metrics(self, usage: _base.Usage) -> dict[str, float]:
        before, self._before = self._before, usage
        found: dict[str, float | None] = dict.fromkeys(METRICS)
        if before is not None and usage.time > before.time:
            share = (usage.cpu_ns - before.cpu_ns) / 1e9 / (usage.time - before.time) * 100.0
            found["cpu_usage_percentage"] = share / self.cores if self.cores else share
        rss = usage.total("rss_bytes")
        found["memory_rss_megabytes"] = _megabytes(rss)
        found["memory_vms_megabytes"] = _megabytes(usage.total("virtual_bytes"))
        found["memory_uss_megabytes"] = _megabytes(self._uss(usage, rss))
        if rss is not None:
            limit = self.max_memory_megabytes * _base.MIB
            found["memory_usage_percentage"] = rss / limit * 100.0 if limit > 0 else 0.0
        found["num_threads"] = usage.total("threads")
        found["num_fds"] = usage.total("fds")
        found["io_read_megabytes"] = usage.read_bytes / _base.MIB
        found["io_write_megabytes"] = usage.write_bytes / _base.MIB
        if self.zeros:
            return {name: value or 0.0 for name, value in found.items()}
        return {name: value for name, value in found.items() if value is not None}

    def _uss(self, usage: _base.Usage, rss: float | None) -> float | None:
        """RSS where USS may not be read; a process that is too young to have one counts with its RSS as well."""
        uss = usage.total("uss_bytes", "rss_bytes")
        if uss is None and (self.zeros or any(p.uss_bytes.reason == "denied" for p in usage.sample.processes)):
            return rss
        return uss

    def of_sample(self, sample: Sample) -> dict[str, float]:
        if self._base is None:
            self._base = _base.Usage.base_of(sample)
        return self.metrics(_base.Usage(sample, self._base))


def _megabytes(value: float | None) -> float | None:
    return None if value is None else value / _base.MIB


def mean_of(samples: list[dict[str, float]]) -> dict[str, float]:
    """The mean of each metric over the samples that have it."""
    names = dict.fromkeys(name for sample in samples for name in sample)
    values = {name: [sample[name] for sample in samples if name in sample] for name in names}
    return {name: sum(of) / len(of) for name, of in values.items()}


class _Logger:
    """In the place of the original's thread: the process that logs. It answers what a thread is asked."""

    name = "ProcessMetricsMonitor"
    daemon = True

    def __init__(self, companion: _base.Companion) -> None:
        self._companion = companion
        self._ended = False
        self.said = b""

    def is_alive(self) -> bool:
        return not self._ended

    @property
    def has_begun(self) -> bool:
        """Has it imported MLflow? That takes a second or more, and it says so, or what failed."""
        return self._companion.has_ended or b"{" in self._companion.said

    def leave(self, timeout: float) -> None:
        """Lets it go on by itself. A container may end with the interpreter, and with it all its processes: there the
        interpreter waits at its own end."""
        if not _is_in_container():
            self._companion.end(0)
            return
        self._companion.close_input()
        for other in [each for each in _left if each.has_ended]:  # of many short blocks each has a descriptor
            del _left[other]
        _left[self._companion] = timeout
        atexit.unregister(_wait_for_left)
        atexit.register(_wait_for_left)

    def join(self, timeout: float | None = None) -> None:
        if not self._ended:
            self._ended = self._companion.end(3600.0 if timeout is None else timeout)
            self.said = self._companion.said

    async def ajoin(self, timeout: float) -> None:
        import asyncio

        end = time.monotonic() + timeout
        self._companion.close_input()
        while not self._companion.has_ended and time.monotonic() < end:
            await asyncio.sleep(0.02)


_left: dict[_base.Companion, float] = {}  # those that go on by themselves, and for how long each is waited for


def _wait_for_left() -> None:
    """For all together as long as for one: without a server none of them ends."""
    end = time.monotonic() + max(_left.values())
    for companion in list(_left):
        companion.end(max(0.0, end - time.monotonic()))


def _is_in_container() -> bool:
    """In a PID namespace other than the first one, whose number is fixed (PROC_PID_INIT_INO)."""
    try:
        return os.readlink("/proc/self/ns/pid") != "pid:[4026531836]"
    except OSError:
        return True


class ProcessMetricsMonitor:
    """Logs CPU, memory, threads, descriptors and I/O of a process, and of its children, to the active MLflow run.

    Arguments are the original's; max_cpu_count, if it is given, divides the CPU share: 100 is then all of these CPUs,
    not one of them. original=True: the original's behaviour (docs/compat.md).
    """

    def __init__(
        self,
        pid: int | None = None,
        children: bool = True,
        sampling_interval: float = 10.0,
        samples_before_logging: int = 1,
        prefix: str = "process/",
        verbose: bool = False,
        max_memory_megabytes: float | None = None,
        max_cpu_count: float | None = None,
        *,
        original: bool | None = None,
    ) -> None:
        self.pid: int = pid or os.getpid()
        self.children: bool = children
        self.sampling_interval: float = sampling_interval
        self.samples_before_logging: int = max(1, samples_before_logging)
        self.prefix: str = prefix
        self.verbose: bool = verbose
        self._original = _base.as_original(original)
        self._given_memory, self._given_cpus = max_memory_megabytes, max_cpu_count
        self.max_memory_megabytes: float = _base.memory_mib(None)
        if max_memory_megabytes is not None:
            self.max_memory_megabytes = max_memory_megabytes
        self.max_cpu_count: float = float(os.cpu_count() or 1) if max_cpu_count is None else max_cpu_count
        self.run_id: str | None = None
        self.shutdown_event: threading.Event = threading.Event()
        self.thread: Any = None
        self.step: int = 0
        self.samples: list[dict[str, float]] = []
        self.processes: dict[int, Any] = {}
        self.recording: Recording | None = None
        """What barograph recorded: `monitor.recording.summary`, `.report("run.html")`."""
        self._probe: _base.Probe | None = None
        self._collector: Collector | None = None

    # ---- context manager ----

    def __enter__(self) -> ProcessMetricsMonitor:
        self.start()
        return self

    def __exit__(
        self, exc_type: type[BaseException] | None, exc_val: BaseException | None, exc_tb: TracebackType | None
    ) -> None:
        self.finish()

    async def __aenter__(self) -> ProcessMetricsMonitor:
        return self.__enter__()

    async def __aexit__(
        self, exc_type: type[BaseException] | None, exc_val: BaseException | None, exc_tb: TracebackType | None
    ) -> None:
        """As __exit__; other tasks run until all is recorded and logged."""
        if isinstance(self.thread, _Logger) and self.recording is not None:
            await self.recording.astop()
            if self.thread.has_begun:
                await self.thread.ajoin(self.sampling_interval + 5)
        self.__exit__(exc_type, exc_val, exc_tb)

    # ---- start and finish ----

    def start(self) -> None:
        """Begins to record and to log; a warning says why not."""
        if self.thread is not None:
            return warn("ProcessMetricsMonitor is already running.", RuntimeWarning)
        if not os.path.exists(f"/proc/{self.pid}"):
            return warn(f"PID {self.pid} does not exist. ProcessMetricsMonitor will not start.", RuntimeWarning)
        mlflow: Any = import_module("mlflow")

        active = mlflow.active_run()
        if active is None:
            return warn("No active MLflow run found. ProcessMetricsMonitor will not start.", RuntimeWarning)
        self.run_id = str(active.info.run_id)
        self.shutdown_event.clear()
        if self._calls_back():
            self._begin_recording()
            self.thread = threading.Thread(target=self.monitor_loop, daemon=True, name="ProcessMetricsMonitor")
            self.thread.start()
        else:
            self._start_logger(mlflow)
        if self.verbose:
            print(f"Started process metrics monitoring for PID {self.pid} (children={self.children}).", file=sys.stderr)

    def _calls_back(self) -> bool:
        """Is there a method of a subclass that the original calls from its thread?"""
        names = ("collect_once", "aggregate", "publish", "monitor_loop", "flush_remaining")
        replaced = any(getattr(type(self), n) is not getattr(ProcessMetricsMonitor, n) for n in names)
        return replaced or any(n in vars(self) for n in names) or self._original or not sys.executable

    def _begin_recording(self) -> bool:
        self.recording = _base.record(self.pid, self.sampling_interval, children=self.children)
        if self.recording.path is None:
            return False
        if self._given_memory is None and not self._original:
            self.max_memory_megabytes = min(self.max_memory_megabytes, _base.memory_mib(self.recording.tape))
        return True

    def _cores(self) -> float | None:
        return self._given_cpus if self._given_cpus and not self._original else None

    def _start_logger(self, mlflow: Any) -> None:
        code = "import sys; sys.path[:] = sys.argv[1].split(chr(10)); from barograph.compat._mlflow import main; main()"
        paths = [
            os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__)))),
            *filter(os.path.isabs, sys.path),
        ]
        # Before the recording: what logs is no part of the job.
        companion = _base.Companion([sys.executable, "-c", code, "\n".join(paths)])
        if not self._begin_recording():
            companion.end(0)
            return
        assert self.recording is not None
        companion.begin(self.recording.tape)
        settings = {
            "uri": mlflow.get_tracking_uri(),
            "run_id": self.run_id,
            "prefix": self.prefix,
            "step": self.step,
            "samples": self.samples_before_logging,
            "memory": self.max_memory_megabytes,
            "cores": self._cores(),
            "own": self.pid == os.getpid(),
        }
        companion.write(json.dumps(settings) + "\n")
        self.thread = _Logger(companion)
        _base.keep(self, self.recording, companion)

    def finish(self) -> None:
        """Ends the recording and waits until all of it is logged, at most sampling_interval + 5 s. What is shorter than
        the import of MLflow is logged afterwards."""
        if self.thread is None:
            return
        if self.verbose:
            print(f"Stopping process metrics monitoring for PID {self.pid}...", file=sys.stderr)
        self.shutdown_event.set()
        if self.recording is not None:
            self.recording.stop()
        thread, self.thread = self.thread, None
        if not isinstance(thread, _Logger):
            thread.join(timeout=self.sampling_interval + 5)
            self.flush_remaining()
        else:
            _base.release(self)
            self._let_end(thread)
        if self.verbose:
            print("Successfully terminated process metrics monitoring.", file=sys.stderr)

    def _let_end(self, logger: _Logger) -> None:
        assert self.recording is not None
        step = self.step - (-sum(1 for _ in self.recording.tape) // self.samples_before_logging)
        if logger.has_begun:
            logger.join(timeout=self.sampling_interval + 5)
            self._take_report(logger)
        else:
            logger.leave(self.sampling_interval + 5)
        if logger.is_alive():
            self.step = step  # once all is logged

    def _take_report(self, logger: _Logger) -> None:
        """What the process that logs has said: lines of JSON."""
        for line in logger.said.split(b"\n"):
            try:
                said = json.loads(line)
            except ValueError:
                continue
            if isinstance(said, dict):
                self.step = said.get("step", self.step)
                if said.get("warning"):
                    warn(said["warning"], RuntimeWarning)
        if logger.is_alive():
            where = self.recording.path if self.recording is not None else ""
            text = f"MLflow has not taken all metrics yet; they are sent as soon as it does. They are in {where}"
            warn(text, RuntimeWarning)

    # ---- what the thread of the original does, step by step ----

    def collect_once(self) -> dict[str, float]:
        """The metrics at this moment. All are 0.0 where there is no such process, and cpu_usage_percentage is at the
        first call, as there."""
        empty: dict[str, float] = {name: 0.0 for name in METRICS}
        if self._probe is None:
            self._probe = _base.Probe(self.pid, self.children)
            self._collector = Collector(self.max_memory_megabytes, self._cores(), zeros=True)
        usage = self._probe.take()
        if usage is None:
            return empty
        self.processes = {p.pid: p for p in usage.sample.processes}
        assert self._collector is not None
        return {**empty, **self._collector.metrics(usage)}

    def aggregate(self, samples: list[dict[str, float]]) -> dict[str, float]:
        """The means; {} of nothing."""
        return mean_of(samples)

    def publish(self, metrics: dict[str, float]) -> None:
        """Logs metrics to the run; a step that could not be logged is not counted."""
        mlflow: Any = import_module("mlflow")

        try:
            mlflow.log_metrics({self.prefix + k: v for k, v in metrics.items()}, step=self.step, run_id=self.run_id)
        except Exception as error:
            from ..mlflow._server import harmless

            said = harmless(str(error), str(mlflow.get_tracking_uri()))
            warn(f"Failed to log process metrics at step {self.step}: {said}", RuntimeWarning)
            return
        self.step += 1

    def monitor_loop(self) -> None:
        """Collects, averages and publishes until finish(): what the thread of the original does. It is one here only if
        a subclass replaces one of these methods, or with original=True."""
        while not self.shutdown_event.is_set():
            taken: list[dict[str, float]] = []
            for _ in range(self.samples_before_logging):
                if self.shutdown_event.is_set():
                    break
                taken.append(self.collect_once())
                self.shutdown_event.wait(self.sampling_interval)
            if not taken:
                break
            averaged = self.aggregate(taken)
            if averaged:
                self.publish(averaged)

    def flush_remaining(self) -> None:
        """Publishes what is in `samples`."""
        if self.samples:
            averaged = self.aggregate(self.samples)
            if averaged:
                self.publish(averaged)
            self.samples.clear()
