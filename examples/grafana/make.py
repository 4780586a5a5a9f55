#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Makes the dashboards beside it: job.json, node.json and fleet.json. Names of metrics are those of `/metrics` of `baro
serve` and of `baro push`. The latter has a job's label on the machine's series, too, once for each job that read it: so
values of the machine are aggregated by `max by (instance)`, which changes nothing for the former."""

import json
import pathlib

SOURCE = {"type": "prometheus", "uid": "${datasource}"}
ON, JOB = 'instance=~"$instance"', 'instance=~"$instance", baro_job=~"$job"'
NAMED = " * on (instance, baro_job) group_left (command) max by (instance, baro_job, command) (baro_job_info)"


def rate(metric, labels, by):
    """A counter's growth per second; by: what tells its series apart."""
    return f"max by ({by}) (rate({metric}{{{labels}}}[$__rate_interval]))"


def level(metric, labels, by):
    return f"max by ({by}) ({metric}{{{labels}}})"


class Dashboard:
    def __init__(self, name, title, description, variables):
        self.name, self.panels, self.x, self.y, self.height = name, [], 0, 0, 0
        self.rest = {
            "title": title,
            "uid": f"barograph-{name}",
            "description": description,
            "tags": ["barograph"],
            "schemaVersion": 39,
            "version": 1,
            "editable": True,
            "refresh": "15s",
            "time": {"from": "now-1h", "to": "now"},
            "timezone": "",
            "templating": {"list": [DATASOURCE, *variables]},
            "annotations": {"list": []},
            "links": [{"type": "dashboards", "tags": ["barograph"], "title": "barograph", "asDropdown": False,
                       "icon": "external link", "includeVars": True, "keepTime": True, "targetBlank": False,
                       "tooltip": "", "url": ""}],
        }

    def place(self, width, height):
        if self.x + width > 24:
            self.x, self.y = 0, self.y + self.height
        at = {"x": self.x, "y": self.y, "w": width, "h": height}
        self.x, self.height = self.x + width, height
        return at

    def add(self, kind, title, queries, unit, width, height, options, defaults=None, **more):
        """queries: pairs of a query and what its series are called."""
        table = {"format": "table", "instant": True, "range": False} if kind == "table" else {}
        targets = [
            {"refId": chr(65 + i), "datasource": SOURCE, "expr": query, "legendFormat": legend, **table}
            for i, (query, legend) in enumerate(queries)
        ]
        self.panels.append({
            "id": len(self.panels) + 1, "type": kind, "title": title, "datasource": SOURCE, "targets": targets,
            "fieldConfig": {"defaults": {"unit": unit, **(defaults or {})}, "overrides": []},
            "options": options, "gridPos": self.place(width, height), **more,
        })

    def row(self, title):
        self.x, self.y = 0, self.y + self.height
        self.panels.append({"id": len(self.panels) + 1, "type": "row", "title": title, "collapsed": False,
                            "panels": [], "gridPos": self.place(24, 1)})
        self.x, self.y, self.height = 0, self.y + 1, 0

    def number(self, title, query, unit="none", width=4):
        self.add("stat", title, [(query, "")], unit, width, 4,
                 {"reduceOptions": {"calcs": ["lastNotNull"], "fields": "", "values": False}, "graphMode": "area", "colorMode": "value"})

    def curve(self, title, queries, unit="none", width=12, stacked=False):
        custom = {"lineWidth": 1, "fillOpacity": 20 if stacked else 8, "showPoints": "never",
                  "stacking": {"mode": "normal" if stacked else "none", "group": "A"}}
        self.add("timeseries", title, queries, unit, width, 8,
                 {"legend": {"displayMode": "list", "placement": "bottom", "showLegend": True},
                  "tooltip": {"mode": "multi", "sort": "desc"}}, {"custom": custom})

    def table(self, title, query, unit="none", width=12):
        hidden = {"Time": True, "__name__": True, "job": True}
        self.add("table", title, [(query, "")], unit, width, 8, {"showHeader": True, "cellHeight": "sm"},
                 transformations=[{"id": "organize", "options": {"excludeByName": hidden, "renameByName": {"Value": title.split(",")[0]}}}])

    def write(self):
        text = json.dumps({**self.rest, "panels": self.panels}, indent=1) + "\n"
        (pathlib.Path(__file__).resolve().parent / f"{self.name}.json").write_text(text)


DATASOURCE = {"name": "datasource", "label": "Prometheus", "type": "datasource", "query": "prometheus", "current": {}}


def variable(name, label, query, several):
    everything = {"text": ["All"], "value": ["$__all"]}
    return {
        "name": name, "label": label, "type": "query", "datasource": SOURCE,
        "query": {"query": query, "refId": name}, "refresh": 2, "sort": 1,
        "multi": several, "includeAll": True, "allValue": ".*", "current": everything,
    }


MACHINE = variable("instance", "Machine", "label_values(baro_job_info, instance)", True)
OF_JOB = variable("job", "Job", 'label_values(baro_job_info{instance=~"$instance"}, baro_job)', True)


def job():
    d = Dashboard("job", "barograph: jobs", "What jobs use: docs/serve.md and docs/push.md of barograph.", [MACHINE, OF_JOB])
    by, legend = "instance, baro_job", "{{command}} ({{baro_job}})"

    def of(metric, how=rate):
        return how(metric, JOB, by) + NAMED

    d.number("Jobs", f"count(count by ({by}) (baro_job_info{{{JOB}}}))")
    d.number("Cores in use", f"sum({rate('baro_job_cpu_seconds_total', JOB, by)})")
    d.number("Memory in use", f"sum({level('baro_job_rss_bytes', JOB, by)})", "bytes")
    d.number("Processes", f"sum({level('baro_job_processes', JOB, by)})")
    d.number("Jobs that failed", f"count(baro_job_exit_status{{{JOB}}} > 0) or vector(0)")
    d.number("OOM kills", f"sum(increase(baro_cgroup_oom_kills_total{{{JOB}}}[$__range])) or vector(0)")
    d.row("Jobs")
    d.curve("Cores", [(of("baro_job_cpu_seconds_total"), legend)])
    d.curve("Memory", [(f"({level('baro_job_pss_bytes', JOB, by)} or {level('baro_job_rss_bytes', JOB, by)}){NAMED}", legend)], "bytes")
    d.curve("Storage: reads above, writes below", [(of("baro_job_io_read_bytes_total"), f"read {legend}"), ("-" + of("baro_job_io_write_bytes_total"), f"write {legend}")], "Bps")
    d.curve("Waiting for a core", [(of("baro_job_run_delay_seconds_total"), legend)])
    d.curve("Processes", [(of("baro_job_processes", level), legend)])
    d.table("Exit status, of jobs that ended", level("baro_job_exit_status", JOB, by) + NAMED)
    d.row("Control groups and containers")
    d.curve("Memory and limit", [(level("baro_cgroup_memory_working_set_bytes", JOB, by), "in use {{baro_job}}"), (level("baro_cgroup_memory_limit_bytes", JOB, by), "limit {{baro_job}}")], "bytes")
    d.curve("Held back by the CPU quota", [(rate("baro_cgroup_cpu_throttled_seconds_total", JOB, by), "{{baro_job}}")], "s")
    d.row("GPUs")
    gpu = f"{by}, gpu"
    d.curve("Busy with the job", [(rate("baro_gpu_busy_job_seconds_total", JOB, gpu), "{{gpu}} {{baro_job}}")], "percentunit")
    d.curve("GPU memory of the job", [(level("baro_gpu_memory_job_bytes", JOB, gpu), "{{gpu}} {{baro_job}}")], "bytes")
    d.row("Phases and tasks")
    d.curve("Cores by phase (baro push)", [(rate("baro_phase_cpu_seconds_total", JOB, f"{by}, phase"), "{{phase}} {{baro_job}}")])
    d.curve("Cores by task", [(rate("baro_task_cpu_seconds_total", JOB, f"{by}, task"), "{{task}} {{baro_job}}")])
    d.write()


def node():
    d = Dashboard("node", "barograph: machines", "Machines around the jobs: docs/serve.md and docs/push.md of barograph.", [MACHINE])
    by, legend = "instance", "{{instance}}"
    cpus, total = level("baro_host_cpus", ON, by), level("baro_host_memory_total_bytes", ON, by)
    available = level("baro_host_memory_available_bytes", ON, by)
    busy = f"{cpus} - {rate('baro_host_cpu_idle_seconds_total', ON, by)} - {rate('baro_host_cpu_iowait_seconds_total', ON, by)}"
    d.number("Cores", f"sum({cpus})")
    d.number("Cores in use", f"sum({busy})")
    d.number("Memory", f"sum({total})", "bytes")
    d.number("Memory available", f"sum({available})", "bytes")
    d.number("Jobs", f"count(count by (instance, baro_job) (baro_job_info{{{ON}}}))")
    d.number("OOM kills", f"sum(max by (instance) (increase(baro_host_oom_kills_total{{{ON}}}[$__range]))) or vector(0)")
    d.row("CPU and memory")
    d.curve("Cores in use", [(busy, legend)])
    d.curve("Cores by job", [(rate("baro_job_cpu_seconds_total", ON, "instance, baro_job") + NAMED, "{{command}} ({{baro_job}})")], stacked=True)
    d.curve("Memory in use", [(f"{total} - {available}", legend)], "bytes")
    d.curve("Pressure: time in which threads waited", [(rate(f"baro_host_pressure_{what}_some_seconds_total", ON, by), f"{what} {legend}") for what in ("cpu", "memory", "io")], "percentunit")
    d.row("Disks and network")
    d.curve("Disks: reads above, writes below", [(rate("baro_disk_read_bytes_total", ON, "instance, disk"), "{{disk}} " + legend), ("-" + rate("baro_disk_write_bytes_total", ON, "instance, disk"), "{{disk}} " + legend)], "Bps")
    d.curve("Network: received above, sent below", [(rate("baro_net_receive_bytes_total", ON, "instance, net"), "{{net}} " + legend), ("-" + rate("baro_net_transmit_bytes_total", ON, "instance, net"), "{{net}} " + legend)], "Bps")
    d.curve("Filesystems: share in use", [(f"1 - {level('baro_fs_available_bytes', ON, 'instance, fs')} / ({level('baro_fs_total_bytes', ON, 'instance, fs')} > 0)", "{{fs}} " + legend)], "percentunit")
    d.curve("Temperature", [(level("baro_sensor_temperature_celsius", ON, "instance, sensor"), "{{sensor}} " + legend)], "celsius")
    d.row("GPUs")
    d.curve("Busy", [(rate("baro_gpu_busy_seconds_total", ON, "instance, gpu"), "{{gpu}} " + legend)], "percentunit")
    d.curve("Power", [(level("baro_gpu_power_watts", ON, "instance, gpu"), "{{gpu}} " + legend)], "watt")
    d.write()


def fleet():
    d = Dashboard("fleet", "barograph: fleet", "All machines and their jobs. What was, and who wasted it, is answered by SQL: docs/fleet.md of barograph.", [])
    cpus, by = level("baro_host_cpus", "", "instance"), "instance, baro_job"
    total, available = (level(f"baro_host_memory_{what}_bytes", "", "instance") for what in ("total", "available"))
    cores = rate("baro_job_cpu_seconds_total", "", by)
    gpu_busy = rate("baro_gpu_busy_seconds_total", "", "instance, gpu")
    used, limit = (level(f"baro_cgroup_memory_{what}_bytes", "", by) for what in ("working_set", "limit"))
    d.number("Machines", f"count({cpus})")
    d.number("Jobs", f"count(count by ({by}) (baro_job_info))")
    d.number("Cores", f"sum({cpus})")
    d.number("Cores in use by jobs", f"sum({cores})")
    d.number("Memory available", f"sum({available}) / sum({total})", "percentunit")
    d.number("GPUs, busy share", f"avg({gpu_busy})", "percentunit")
    d.row("Over time")
    d.curve("Cores: of machines, and in use by jobs", [(f"sum({cpus})", "machines"), (f"sum({cores})", "jobs")])
    d.curve("Memory: of machines, and in use", [(f"sum({total})", "machines"), (f"sum({total}) - sum({available})", "in use")], "bytes")
    d.curve("OOM kills", [("sum by (instance) (max by (instance) (increase(baro_host_oom_kills_total[$__rate_interval])))", "{{instance}}")])
    d.curve("Machines under pressure: the ten that wait most for memory", [(f"topk(10, {rate('baro_host_pressure_memory_some_seconds_total', '', 'instance')})", "{{instance}}")], "percentunit")
    d.row("Now")
    d.table("Cores, of the jobs that use most", f"topk(20, {cores}{NAMED})")
    d.table("Memory set aside and unused, of control groups with a limit", f"topk(20, ({limit} - {used}){NAMED})", "bytes")
    d.table("GPUs held and idle for half an hour", f'sum by ({by}) (max by ({by}, gpu) (baro_gpu_processes_job) > 0) unless on ({by}) sum by ({by}) (rate(baro_gpu_busy_job_seconds_total[30m])) > 0.01')
    d.table("Fullest filesystems, share in use", f"topk(20, 1 - {level('baro_fs_available_bytes', '', 'instance, fs')} / ({level('baro_fs_total_bytes', '', 'instance, fs')} > 0))", "percentunit")
    d.table("Machines that have fallen silent, cores", f"max by (instance) (baro_host_cpus offset 1h) unless on (instance) {cpus}")
    d.table("Jobs, by machine", f"sort_desc(count by (instance) (count by ({by}) (baro_job_info)))")
    d.write()


if __name__ == "__main__":
    job()
    node()
    fleet()
