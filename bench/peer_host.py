# SPDX-License-Identifier: Apache-2.0
"""A typical monitor of the machine written with psutil: every INTERVAL seconds it reads what a host sample of baro has,
as far as psutil has it.

    peer_host.py INTERVAL

CPUs, memory, swap, disks and interfaces each time; usage of filesystems and temperatures of sensors each tenth time, as
a recorder at 1 s does. Until SIGINT. It keeps and prints nothing.
"""

import signal
import sys
import time

import psutil


def sample(n):
    psutil.cpu_times(percpu=True), psutil.cpu_stats(), psutil.getloadavg()
    psutil.virtual_memory(), psutil.swap_memory()
    psutil.disk_io_counters(perdisk=True), psutil.net_io_counters(pernic=True)
    if n % 10 == 0:
        psutil.sensors_temperatures()
        for partition in psutil.disk_partitions():
            psutil.disk_usage(partition.mountpoint)


def main():
    interval = float(sys.argv[1])
    ends = {signal.SIGINT, signal.SIGTERM}
    signal.pthread_sigmask(signal.SIG_BLOCK, ends)
    due, n = time.monotonic(), 0
    while True:
        sample(n)
        n += 1
        due += interval
        if signal.sigtimedwait(ends, max(0, due - time.monotonic())):
            return


main()
