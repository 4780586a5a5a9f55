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
ProctrackType=proctrack/linuxproc
TaskPlugin=task/none
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


def why_not():
    """Why there can be no cluster here; None: there can be one."""
    if os.geteuid() != 0:
        return "not root: slurmd needs it"
    missing = [p for p in PROGRAMS if not shutil.which(p, path=os.environ["PATH"] + ":/usr/sbin")]
    return f"there is no {missing[0]} (package slurm-wlm)" if missing else None


def free_ports(n):
    """The first of n ports in a row that nobody listens on."""
    for first in range(26800 + os.getpid() % 1000, 60000, n):
        with contextlib.ExitStack() as held:
            try:
                for port in range(first, first + n):
                    held.enter_context(socket.socket()).bind(("127.0.0.1", port))
                return first
            except OSError:
                continue
    raise AssertionError("no free ports")


@contextlib.contextmanager
def cluster(folder):
    """Gives a function that runs srun with the arguments it gets."""
    port, host = free_ports(NODES + 1), socket.gethostname()
    (folder / "state").mkdir()
    conf = folder / "slurm.conf"
    conf.write_text(CONF.format(host=host, folder=folder, port=port, first_port=port + 1, last_port=port + NODES,
                                last=NODES - 1))  # fmt: skip
    environment = {**os.environ, "SLURM_CONF": str(conf), "PATH": os.environ["PATH"] + ":/usr/sbin"}
    with open(folder / "out", "wb") as out, contextlib.ExitStack() as held:
        def daemon(*argv):
            process = subprocess.Popen(argv, env=environment, stdout=out, stderr=out, stdin=subprocess.DEVNULL)
            held.callback(process.wait)
            held.callback(process.terminate)

        def srun(*argv, timeout=120, env=()):
            return subprocess.run(["srun", *map(str, argv)], env={**environment, **dict(env)}, timeout=timeout,
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
        yield srun
