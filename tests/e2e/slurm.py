# SPDX-License-Identifier: Apache-2.0
"""A cluster of Slurm on this machine: slurmctld and four slurmd, each a node, on loopback and in a folder of its own."""

import contextlib
import os
import shutil
import socket
import subprocess
import time

NODES = 4
PROGRAMS = ("slurmctld", "slurmd", "srun", "sinfo")

CONF = """\
ClusterName=emulated
SlurmctldHost={host}(127.0.0.1)
AuthType=auth/none
CredType=cred/none
SlurmctldPort={port}
SlurmctldPidFile={folder}/ctld.pid
SlurmdPidFile={folder}/d.%n.pid
SlurmdSpoolDir={folder}/spool.%n
StateSaveLocation={folder}/state
SlurmUser=root
ProctrackType=proctrack/{proctrack}
TaskPlugin=task/{task}
SwitchType=switch/none
MpiDefault=none
SelectType=select/cons_tres
SelectTypeParameters=CR_CPU
JobAcctGatherType=jobacct_gather/none
SlurmctldLogFile={folder}/ctld.log
SlurmdLogFile={folder}/d.%n.log
SlurmdParameters=config_overrides
ReturnToService=2
NodeName=n[0-{last}] NodeHostname={host} NodeAddr=127.0.0.1 Port=[{first_port}-{last_port}] CPUs=64 State=UNKNOWN
PartitionName=main Nodes=ALL Default=YES MaxTime=INFINITE State=UP
"""

# Each job has a control group, and a prolog and an epilog of examples/slurm.
GROUPS = """\
Prolog={examples}/prolog.sh
Epilog={examples}/epilog.sh
PrologFlags=Alloc
"""
HIERARCHIES = ("freezer", "memory")


def why_not():
    """Why there can be no cluster here; None: there can be one."""
    if os.geteuid() != 0:
        return "not root: slurmd needs it"
    missing = [p for p in PROGRAMS if not shutil.which(p, path=os.environ["PATH"] + ":/usr/sbin")]
    return f"there is no {missing[0]} (package slurm-wlm)" if missing else None


def free_ports(n):
    """The first of n ports in a row that nobody listens on."""
    for first in range(20000 + os.getpid() % 2000 * n, 60000, n):  # those of other processes are others
        with contextlib.ExitStack() as held:
            try:
                for port in range(first, first + n):
                    held.enter_context(socket.socket()).bind(("127.0.0.1", port))
                return first
            except OSError:
                continue
    raise AssertionError("no free ports")


def why_no_groups():
    """Why Slurm can't make control groups here; None: it can."""
    missing = [h for h in HIERARCHIES if not os.access(f"/sys/fs/cgroup/{h}/tasks", os.W_OK)]
    return f"no control groups of v1 to make: {missing[0]}" if missing else why_not()


def remove_groups():
    for hierarchy in HIERARCHIES:
        for node in range(NODES):
            for folder, _, _ in os.walk(f"/sys/fs/cgroup/{hierarchy}/slurm_n{node}", topdown=False):
                with contextlib.suppress(OSError):
                    os.rmdir(folder)


@contextlib.contextmanager
def cluster(folder, examples=None):
    """Gives a function that runs srun, or another program of Slurm, with the arguments it gets. examples: a folder with
    a prolog and an epilog; then jobs have control groups."""
    port, host = free_ports(NODES + 1), socket.gethostname()
    (folder / "state").mkdir()
    conf = folder / "slurm.conf"
    conf.write_text(CONF.format(host=host, folder=folder, port=port, first_port=port + 1, last_port=port + NODES,
                                last=NODES - 1, proctrack="cgroup" if examples else "linuxproc",
                                task="cgroup" if examples else "none"))  # fmt: skip
    if examples:
        with conf.open("a") as f:
            f.write(GROUPS.format(examples=examples))
        (folder / "cgroup.conf").write_text("CgroupPlugin=cgroup/v1\nConstrainRAMSpace=yes\nConstrainCores=no\n")
    environment = {**os.environ, "SLURM_CONF": str(conf), "PATH": os.environ["PATH"] + ":/usr/sbin"}
    with open(folder / "out", "wb") as out, contextlib.ExitStack() as held:
        if examples:
            held.callback(remove_groups)

        def daemon(*argv):
            process = subprocess.Popen(argv, env=environment, stdout=out, stderr=out, stdin=subprocess.DEVNULL)
            held.callback(process.wait)
            held.callback(process.terminate)

        def srun(*argv, timeout=120, env=(), program="srun"):
            return subprocess.run([program, *map(str, argv)], env={**environment, **dict(env)}, timeout=timeout,
                                  capture_output=True, text=True)  # fmt: skip

        daemon("slurmctld", "-D", "-c")
        for i in range(NODES):
            (folder / f"spool.n{i}").mkdir()
            daemon("slurmd", "-D", "-N", f"n{i}", "-f", str(conf))
        deadline = time.monotonic() + 60
        while True:
            found = subprocess.run(["sinfo", "-h", "-N", "-t", "idle"], env=environment, capture_output=True, text=True)
            if len(found.stdout.split("\n")) > NODES:
                break
            assert time.monotonic() < deadline, (folder / "ctld.log").read_text() + (folder / "out").read_text()
            time.sleep(0.2)
        srun.conf = str(conf)
        yield srun
