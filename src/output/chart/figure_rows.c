/* SPDX-License-Identifier: Apache-2.0 */
/* The table of figures. */
#include <string.h>

#include "output/chart/figure_parts.h"

#define ALL_OTHERS "all others"

/* clang-format off */
const struct figure_row figure_rows[] = {
    {{"cpu_tasks", "CPU by task (cores)", "Cores that the processes of each task used", CHART_CORES, FIGURE_PAGE},
     {{"", BARO_KIND_PROCESS, "cores", ROW_DERIVED, CHART_STACK, true},
      {"job", BARO_KIND_JOB, "cores", ROW_DERIVED, CHART_TOTAL, false}},
     ORDER_CPU, true, ALL_OTHERS, decorate_cpu},
    {{"memory_tasks", "Memory by task (RSS)",
      "Resident memory of the processes of each task. Memory that several processes share counts in each of them",
      CHART_BYTES, FIGURE_PAGE},
     {{"", BARO_KIND_PROCESS, "rss", ROW_VALUE, CHART_STACK, true},
      {"job", BARO_KIND_PROCESS, "rss", ROW_VALUE, CHART_TOTAL, false}},
     ORDER_MEMORY, true, ALL_OTHERS, decorate_memory},
    {{"cpu", "CPU by command (cores)", "Cores that the processes of each command used", CHART_CORES, FIGURE_PAGE},
     {{"", BARO_KIND_PROCESS, "cores", ROW_DERIVED, CHART_STACK, true},
      {"job", BARO_KIND_JOB, "cores", ROW_DERIVED, CHART_TOTAL, false}},
     ORDER_CPU, false, ALL_OTHERS, decorate_cpu},
    {{"memory", "Memory by command (RSS)",
      "Resident memory of the processes of each command. Memory that several processes share counts in each of them",
      CHART_BYTES, FIGURE_PAGE},
     {{"", BARO_KIND_PROCESS, "rss", ROW_VALUE, CHART_STACK, true},
      {"job", BARO_KIND_PROCESS, "rss", ROW_VALUE, CHART_TOTAL, false}},
     ORDER_MEMORY, false, ALL_OTHERS, decorate_memory},
    {{"memory_kinds", "Memory: RSS, PSS, USS",
      "RSS counts shared memory in each process, PSS once in all, USS not at all. Swap is memory that was moved out",
      CHART_BYTES, FIGURE_PAGE},
     {{"RSS", BARO_KIND_PROCESS, "rss", ROW_VALUE, CHART_LINE, false},
      {"PSS", BARO_KIND_PROCESS, "pss", ROW_VALUE, CHART_LINE, false},
      {"USS", BARO_KIND_PROCESS, "uss", ROW_VALUE, CHART_LINE, false},
      {"swap", BARO_KIND_PROCESS, "swap", ROW_VALUE, CHART_LINE, false}},
     ORDER_MEMORY, false, NULL, decorate_memory_kinds},
    {{"cpu_modes", "CPU in user mode and in the kernel (cores)",
      "Cores that the job used in user mode and in the kernel", CHART_CORES, FIGURE_PAGE},
     {{"user", BARO_KIND_JOB, "cpu_user", ROW_RATE, CHART_STACK, false},
      {"kernel", BARO_KIND_JOB, "cpu_system", ROW_RATE, CHART_STACK, false}},
     ORDER_CPU, false, NULL, NULL},
    {{"io", "Storage I/O of the job", "Bytes fetched from storage and sent to it, by the kernel's count of processes",
      CHART_BYTES_PER_SECOND, FIGURE_PAGE},
     {{"read", BARO_KIND_JOB, "io_read_bytes_per_second", ROW_DERIVED, CHART_AREA, false},
      {"written", BARO_KIND_JOB, "io_write_bytes_per_second", ROW_DERIVED, CHART_AREA, false}},
     ORDER_CPU, false, NULL, decorate_peak},
    {{"processes", "Processes and threads", "Living processes of the job, and their threads", CHART_COUNT, FIGURE_PAGE},
     {{"processes", BARO_KIND_JOB, "processes", ROW_VALUE, CHART_AREA, false},
      {"threads", BARO_KIND_PROCESS, "threads", ROW_VALUE, CHART_LINE, false}},
     ORDER_CPU, false, NULL, decorate_threads},
    {{"pressure", "Pressure of the machine (PSI)",
      "Share of the time in which some or all threads of the machine waited for a resource", CHART_RATIO, FIGURE_PAGE},
     {{"CPU, some", BARO_KIND_HOST, "pressure_cpu_some_ratio", ROW_DERIVED, CHART_LINE, false},
      {"I/O, some", BARO_KIND_HOST, "pressure_io_some_ratio", ROW_DERIVED, CHART_LINE, false},
      {"I/O, all", BARO_KIND_HOST, "pressure_io_full_ratio", ROW_DERIVED, CHART_LINE, false},
      {"memory, some", BARO_KIND_HOST, "pressure_memory_some_ratio", ROW_DERIVED, CHART_LINE, false},
      {"memory, all", BARO_KIND_HOST, "pressure_memory_full_ratio", ROW_DERIVED, CHART_LINE, false}},
     ORDER_CPU, false, NULL, NULL},
    {{"tcp", "TCP of the job", "Bytes that its TCP sockets received and sent", CHART_BYTES_PER_SECOND,
      FIGURE_PAGE},
     {{"received", BARO_KIND_JOB, "tcp_received", ROW_RATE, CHART_AREA, false},
      {"sent", BARO_KIND_JOB, "tcp_sent", ROW_RATE, CHART_AREA, false}},
     ORDER_CPU, false, NULL, decorate_peak},
    {{"host_cpu", "CPU of the machine (cores)", "Cores of the machine that the job used, and that all else used",
      CHART_CORES, FIGURE_PAGE},
     {{"the job", BARO_KIND_JOB, "cores", ROW_DERIVED, CHART_STACK, false},
      {"machine", BARO_KIND_HOST, "cores", ROW_DERIVED, CHART_TOTAL, false}},
     ORDER_CPU, false, ALL_ELSE, decorate_host_cpu},
    {{"host_memory", "Memory of the machine", "Memory in use, page cache, and swap in use", CHART_BYTES, FIGURE_PAGE},
     {{"used", BARO_KIND_HOST, "memory_used", ROW_VALUE, CHART_AREA, false},
      {"page cache", BARO_KIND_HOST, "memory_cached", ROW_VALUE, CHART_LINE, false},
      {"swap used", BARO_KIND_HOST, "swap_used", ROW_VALUE, CHART_LINE, false}},
     ORDER_CPU, false, NULL, decorate_host_memory},
    {{"disk", "Disks of the machine", "Bytes read from disks and written to them, each counted once",
      CHART_BYTES_PER_SECOND, FIGURE_PAGE},
     {{"read", BARO_KIND_HOST, "disk_read_bytes_per_second", ROW_DERIVED, CHART_AREA, false},
      {"written", BARO_KIND_HOST, "disk_write_bytes_per_second", ROW_DERIVED, CHART_AREA, false}},
     ORDER_CPU, false, NULL, decorate_peak},
    {{"net", "Network of the machine", "Bytes received and sent, each counted once", CHART_BYTES_PER_SECOND,
      FIGURE_PAGE},
     {{"received", BARO_KIND_HOST, "net_receive_bytes_per_second", ROW_DERIVED, CHART_AREA, false},
      {"sent", BARO_KIND_HOST, "net_transmit_bytes_per_second", ROW_DERIVED, CHART_AREA, false}},
     ORDER_CPU, false, NULL, decorate_peak},

    {{"aggregate_uss", "Private memory (USS) by command, summed over its processes",
      "Memory that no other process shares", CHART_BYTES, FIGURE_SEED},
     {{"", BARO_KIND_PROCESS, "uss", ROW_VALUE, CHART_AREA, true}},
     ORDER_MEMORY, false, NULL, NULL},
    {{"rss_vs_uss", "RSS and USS by command: the gap is shared memory",
      "Resident memory, dashed, and the private part of it", CHART_BYTES, FIGURE_SEED},
     {{" RSS", BARO_KIND_PROCESS, "rss", ROW_VALUE, CHART_DASHED, true},
      {" USS", BARO_KIND_PROCESS, "uss", ROW_VALUE, CHART_LINE, true}},
     ORDER_MEMORY, false, NULL, NULL},
    {{"total_footprint", "Total private memory (USS), stacked by command", "Memory that no other process shares",
      CHART_BYTES, FIGURE_SEED},
     {{"", BARO_KIND_PROCESS, "uss", ROW_VALUE, CHART_STACK, true},
      {"job", BARO_KIND_PROCESS, "uss", ROW_VALUE, CHART_TOTAL, false}},
     ORDER_MEMORY, false, ALL_OTHERS, decorate_footprint},
    {{"aggregate_cpu", "CPU by command, summed over its processes", "100 % is one core", CHART_RATIO, FIGURE_SEED},
     {{"", BARO_KIND_PROCESS, "cores", ROW_DERIVED, CHART_LINE, true}},
     ORDER_CPU, false, NULL, NULL},
    {{"cpu_time", "CPU time by command so far",
      "CPU time of the processes of each command, also of those that have ended", CHART_SECONDS, FIGURE_SEED},
     {{"", BARO_KIND_PROCESS, "cpu", ROW_CUMULATIVE, CHART_LINE, true}},
     ORDER_CPU, false, NULL, NULL},
    {{"instance_count", "Processes by command", "Living processes of each command", CHART_COUNT, FIGURE_SEED},
     {{"", BARO_KIND_PROCESS, "", ROW_COUNT, CHART_LINE, true}},
     ORDER_CPU, false, NULL, NULL},

    {{"waiting", "Threads that waited for a core",
      "Time that threads waited for a core, per time. That of processes too short to be sampled is counted all at "
      "once, when they are reaped", CHART_COUNT, FIGURE_MORE},
     {{"waiting", BARO_KIND_JOB, "run_delay", ROW_RATE, CHART_AREA, false}},
     ORDER_CPU, false, NULL, NULL},
    {{"io_calls", "Bytes that read(2) and write(2) passed", "Bytes passed by the job's calls, from page cache or not",
      CHART_BYTES_PER_SECOND, FIGURE_MORE},
     {{"read", BARO_KIND_JOB, "io_rchar", ROW_RATE, CHART_AREA, false},
      {"written", BARO_KIND_JOB, "io_wchar", ROW_RATE, CHART_AREA, false}},
     ORDER_CPU, false, NULL, decorate_peak},
    {{"faults", "Page faults of the job", "Page faults without I/O (minor) and with it (major)", CHART_PER_SECOND,
      FIGURE_MORE},
     {{"minor", BARO_KIND_JOB, "faults_minor", ROW_RATE, CHART_LINE, false},
      {"major", BARO_KIND_JOB, "faults_major", ROW_RATE, CHART_LINE, false}},
     ORDER_CPU, false, NULL, NULL},
    {{"switches", "Context switches of the job",
      "Voluntary: a thread waited for something. Involuntary: it had to leave a core", CHART_PER_SECOND, FIGURE_MORE},
     {{"voluntary", BARO_KIND_JOB, "switches_voluntary", ROW_RATE, CHART_LINE, false},
      {"involuntary", BARO_KIND_JOB, "switches_involuntary", ROW_RATE, CHART_LINE, false}},
     ORDER_CPU, false, NULL, NULL},
    {{"forks", "Processes started", "Processes of the job that were started", CHART_PER_SECOND, FIGURE_MORE},
     {{"started", BARO_KIND_JOB, "processes_started", ROW_RATE, CHART_AREA, false}},
     ORDER_CPU, false, NULL, decorate_peak},
};
/* clang-format on */
const size_t figure_rows_count = sizeof(figure_rows) / sizeof(*figure_rows);

size_t figure_count(void)
{
    return figure_rows_count;
}

const struct figure_info *figure_get(size_t i)
{
    return i < figure_rows_count ? &figure_rows[i].info : NULL;
}

int figure_find(const char *id)
{
    for (size_t i = 0; i < figure_rows_count; i++) {
        if (strcmp(figure_rows[i].info.id, id) == 0)
            return (int)i;
    }
    return -1;
}
