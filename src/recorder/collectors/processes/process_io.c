/* SPDX-License-Identifier: Apache-2.0 */
/* I/O of a process and of the children that it has reaped. */
#include <stdio.h>

#include "recorder/collectors/processes/process_parts.h"

static const struct {
    enum pid_io_field field;
    enum process_metric metric;
    unsigned reaped;
} io_metrics[] = {
    {IO_RCHAR, PROCESS_io_rchar, REAPED_IO_RCHAR},
    {IO_WCHAR, PROCESS_io_wchar, REAPED_IO_WCHAR},
    {IO_READ_BYTES, PROCESS_io_read, REAPED_IO_READ},
    {IO_WRITE_BYTES, PROCESS_io_write, REAPED_IO_WRITE},
    {IO_CANCELLED_WRITE_BYTES, PROCESS_io_cancelled_write, REAPED_IO_CANCELLED_WRITE},
};
#define IO_METRICS (sizeof(io_metrics) / sizeof(*io_metrics))

void process_left_io(const struct processes *p, struct member *m)
{
    struct member_reading *r = &m->reading;
    uint64_t begin_ns = m->life.begin_ns ? m->life.begin_ns : p->sampling->now_ns;
    if (!r->io_since_ns && p->sampling->need & BARO_SOURCE_IO)
        r->io_since_ns = r->io_ns ? r->io_ns : begin_ns;
}

/* An ordinary user can't read the I/O of a process that is ending. That of one that never can be read is not late. */
static void note_io_read(const struct processes *p, struct member *m, bool ok)
{
    if (!ok && m->reading.is_exiting) {
        process_left_io(p, m);
        return;
    }
    m->reading.io_since_ns = 0;
    m->reading.io_ns = ok ? p->sampling->now_ns : m->reading.io_ns;
}

void process_read_io(struct processes *p, struct member *m)
{
    struct pid_io io;
    ssize_t n = fd_cache_read(&p->cache, m, FD_CACHE_IO, "io", SAMPLING_TEXT);
    bool ok = n > 0 && pid_io_parse(span_of(p->sampling->text, (size_t)n), &io) == 0;
    for (size_t i = 0; i < IO_METRICS; i++) {
        enum process_metric id = io_metrics[i].metric;
        if (ok && (io.valid & 1u << io_metrics[i].field))
            member_raise_counter(m, id, io.value[io_metrics[i].field]);
        else if (m->row.absent[id] != BARO_PRESENT)
            member_set_absent(m, id, n < 0 ? proc_absent((int)-n) : BARO_ABSENT_UNSUPPORTED);
    }
    if (ok) /* stat is always read before io */
        m->account.io_as_of_faults = m->row.value[PROCESS_children_faults_minor];
    m->life.io_final |= ok && member_is_zombie(m);
    note_io_read(p, m, ok);
}

/*
 * /proc/PID/io is the I/O of all threads plus signal->ioac (do_io_accounting() in fs/proc/base.c). The kernel adds to
 * signal->ioac the I/O of threads when they end and of children when they are reaped, including what those had reaped
 * (wait_task_zombie(), since 2.6.27). /proc/PID/task/PID/io is the I/O of one thread. So for a process that never had a
 * second thread the difference is the I/O of its reaped children. Example: rchar is 104,862,600, and 5,000 for the
 * thread itself: the reaped children had read 104,857,600.
 */
static bool put_reaped_io(struct member *m, const struct pid_io *whole, const struct pid_io *own)
{
    for (size_t i = 0; i < IO_METRICS; i++) {
        uint64_t all = whole->value[io_metrics[i].field], mine = own->value[io_metrics[i].field];
        if (!(whole->valid & own->valid & 1u << io_metrics[i].field) || mine > all)
            return false;
        m->reaped_io.now[io_metrics[i].reaped] = all - mine;
    }
    m->reaped_io.now[REAPED_FAULTS] = m->row.value[PROCESS_children_faults_minor];
    return true;
}

/* The CPU clock of a process counts all its threads, including those that ended. If it equals the run time of the first
 * thread, there never was another one. */
static bool only_thread_ever(struct processes *p, int32_t pid)
{
    struct pid_schedstat ss;
    uint64_t clock_ns = 0;
    ssize_t n = proc_read_record(p->sampling->options.proc_fd, pid, "schedstat", p->sampling->text, 256);
    bool ok = n > 0 && pid_schedstat_parse(span_of(p->sampling->text, (size_t)n), &ss) == 0;
    return ok && clock_process_cpu_ns(pid, &clock_ns) == 0 && ss.run_ns == clock_ns;
}

/* Reads the process's io before (into the row) and after that of its thread: if both are equal, neither part has
 * changed in between. */
bool process_reaped_io(struct processes *p, struct member *m)
{
    struct pid_io own, whole;
    char name[40];
    ssize_t n;
    if (!(p->sampling->need & BARO_SOURCE_IO) || m->row.value[PROCESS_threads] > 1 ||
        !only_thread_ever(p, m->row.key.pid))
        return false;
    snprintf(name, sizeof(name), "task/%d/io", (int)m->row.key.pid);
    n = proc_read_record(p->sampling->options.proc_fd, m->row.key.pid, name, p->sampling->text, 512);
    if (n <= 0 || pid_io_parse(span_of(p->sampling->text, (size_t)n), &own) != 0)
        return false;
    n = fd_cache_read(&p->cache, m, FD_CACHE_IO, "io", 512);
    if (n <= 0 || pid_io_parse(span_of(p->sampling->text, (size_t)n), &whole) != 0)
        return false;
    for (size_t i = 0; i < IO_METRICS; i++) {
        if (m->row.absent[io_metrics[i].metric] == BARO_PRESENT &&
            m->row.value[io_metrics[i].metric] != whole.value[io_metrics[i].field])
            return false;
    }
    return put_reaped_io(m, &whole, &own);
}

void process_put_zombie_io(struct member *m, const struct process_zombie *z)
{
    for (size_t i = 0; i < IO_METRICS; i++) {
        if (z->io.valid & 1u << io_metrics[i].field)
            member_raise_counter(m, io_metrics[i].metric, z->io.value[io_metrics[i].field]);
    }
    if (z->io.valid)
        m->account.io_as_of_faults = m->row.value[PROCESS_children_faults_minor];
    m->life.io_final |= z->io_known;
    m->reaped_io.known = z->stat.len && z->io_known && z->own_io_known && put_reaped_io(m, &z->io, &z->own_io);
}
