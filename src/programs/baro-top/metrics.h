/* SPDX-License-Identifier: Apache-2.0 */
/* Ids of the metrics that the live view shows, looked up once. */
#ifndef PROGRAMS_BARO_TOP_METRICS_H
#define PROGRAMS_BARO_TOP_METRICS_H

struct metrics {
    struct {
        int cpu, state, rss, pss, uss, threads, fds, tcp_sent, tcp_received, children_faults;
        int cores, read_rate, write_rate; /* derived */
    } process;
    struct {
        int cpu, io_read, io_write, processes, processes_started, pss_stale, tcp_sent;
        int cores, read_rate, write_rate; /* derived */
    } job;
    struct {
        int pressure_cpu, pressure_memory, pressure_io;
        int cpu_some, memory_some, io_some; /* derived */
    } host;
    struct {
        int memory;
    } group;
};

struct metrics metrics_find(void);

#endif
