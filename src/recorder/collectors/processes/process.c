/* SPDX-License-Identifier: Apache-2.0 */
#include "recorder/collectors/processes/process.h"
#include "recorder/redact/redact.h"

#include <errno.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>

#define YOUNG_NS (20 * NS_PER_MS)
#define YOUNG_REPORTED_NS (100 * NS_PER_MS)
#define SWITCHES_EVERY (10 * NS_PER_SEC) /* reading status costs as much as stat, io and schedstat together */

static void set(struct member *m, enum process_metric id, uint64_t v)
{
    if (m->row.absent[id] == BARO_ABSENT_NOT_ASKED)
        return;
    m->row.value[id] = v;
    m->row.absent[id] = BARO_PRESENT;
}

static void unset(struct member *m, enum process_metric id, int reason)
{
    if (m->row.absent[id] == BARO_ABSENT_NOT_ASKED)
        return;
    m->row.value[id] = 0;
    m->row.absent[id] = (uint8_t)reason;
}

/* Sets a counter, which never falls: a smaller value, due to a race or to scaling, is ignored. */
static void set_counter(struct member *m, enum process_metric id, uint64_t v)
{
    if (m->row.absent[id] == BARO_PRESENT && v < m->row.value[id])
        return;
    set(m, id, v);
}

static bool is_zombie(const struct pid_stat *st)
{
    return st->state == 'Z' && st->num_threads <= 1;
}

/* Sets the CPU time since the run delay was read. Example: the run delay was 300 ms when the process had used 2 s. Now
 * it has used 2.4 s, and the run delay was not read again: the lag is 400 ms. */
static void put_lag(struct member *m)
{
    if (m->row.absent[PROCESS_run_delay] == BARO_PRESENT)
        set(m, PROCESS_run_delay_lag, m->row.value[PROCESS_cpu] - m->reading.delay_cpu_ns);
}

/* stat has both parts in whole ticks, rounded down, so each is up to a tick more. What that and the sum leave open is
 * halved: of many processes the parts are then as many too large as too small. Before half a tick all is user time, as
 * the kernel has it of what no tick hits. Example: 19 ms with utime 1 and stime 0 (of 10 ms): user time is 10 to 19 ms,
 * so 14.5. If the sum does not fit, because it was read earlier, it is split as the ticks are. */
uint64_t process_user_of(uint64_t cpu_ns, uint64_t utime, uint64_t stime, uint64_t tick_ns)
{
    uint64_t user = utime * tick_ns, system = stime * tick_ns;
    uint64_t least = cpu_ns > system + tick_ns ? cpu_ns - system - tick_ns : 0;
    uint64_t most = cpu_ns > system ? cpu_ns - system : 0;
    least = least > user ? least : user;
    most = most < user + tick_ns ? most : user + tick_ns;
    if (least > most)
        return utime + stime ? (uint64_t)((double)cpu_ns * ((double)utime / (double)(utime + stime))) : cpu_ns;
    uint64_t half = least + (most - least) / 2, early = cpu_ns < tick_ns / 2 ? cpu_ns : tick_ns / 2;
    return utime + stime || half > early ? half : early;
}

static void put_cpu(struct processes *p, struct member *m, const struct pid_stat *st, uint64_t clock_ns)
{
    uint64_t cpu = clock_ns ? clock_ns : (st->utime + st->stime) * p->sampling->job->ns_per_tick;
    uint64_t before = m->row.value[PROCESS_cpu];
    if (cpu < before)
        cpu = before;
    uint64_t user = process_user_of(cpu, st->utime, st->stime, p->sampling->job->ns_per_tick);
    /* Like the kernel's cputime_adjust(): neither part falls, and their sum is the exact run time. */
    uint64_t user_before = m->row.value[PROCESS_cpu_user];
    uint64_t most = user_before + (cpu - before);
    user = user < user_before ? user_before : user > most ? most : user;
    set(m, PROCESS_cpu, cpu);
    set(m, PROCESS_cpu_user, user);
    set(m, PROCESS_cpu_system, cpu - user);
    put_lag(m);
    set_counter(m, PROCESS_children_cpu_user, st->cutime * p->sampling->job->ns_per_tick);
    set_counter(m, PROCESS_children_cpu_system, st->cstime * p->sampling->job->ns_per_tick);
}

static void put_parent(struct processes *p, struct member *m, int32_t ppid)
{
    if (m->row.parent.pid == ppid && (m->links.parent || !m->reading.forced))
        return;
    struct member *parent = tree_find(&p->sampling->job->tree, ppid);
    if (parent == m)
        parent = NULL;
    if (parent != m->links.parent)
        tree_set_parent(m, parent);
    if (!parent && m->row.parent.pid != ppid) {
        m->row.parent = (struct baro_key){ppid, 0};
        m->row.info_version++;
    }
}

void process_renamed(struct member *m)
{
    m->reading.info_wanted = true;
    m->reading.info_asked = false; /* a reply that is still to come is about the last program */
    m->reading.info_tries = 0;
}

void process_set_name(struct member *m, const char *comm)
{
    char name[64];
    redact_name_to(comm, name, sizeof(name));
    member_set_name(m, name);
}

static void put_comm(struct member *m, const char *comm)
{
    if (strncmp(m->reading.comm, comm, sizeof(m->reading.comm) - 1) == 0)
        return;
    member_note_comm(m, comm);
    process_renamed(m);
    process_set_name(m, comm);
}

/* Sets rss, and the peak if that is lower: stat is read more often than status, which has VmHWM. Example: a VmHWM of
 * 63 MB was read, and stat has shown 258 MB since: the peak is 258 MB. */
void process_set_rss(struct member *m, uint64_t rss)
{
    if (m->reading.memory_owner.pid)
        return;
    set(m, PROCESS_rss, rss);
    if (rss > m->row.value[PROCESS_rss_peak])
        set(m, PROCESS_rss_peak, rss);
}

/* Takes rss from stat. Since Linux 6.2 it has only what each CPU has added to the common counter, in batches of 32
 * pages or more, so for a small process it can be 0. status sums over all CPUs since 6.16. So stat shows that rss has
 * changed, and status, if it is read, how large it is. */
static void put_rss(struct member *m, uint64_t rss)
{
    if (rss == m->reading.stat_rss && m->row.absent[PROCESS_rss] == BARO_PRESENT)
        return;
    m->reading.stat_rss = rss;
    process_set_rss(m, rss);
}

/* Sets the memory of a process that has ended to 0. */
static void forget_memory(struct member *m)
{
    static const enum process_metric ids[] = {PROCESS_pss,      PROCESS_uss,      PROCESS_swap,
                                              PROCESS_rss_anon, PROCESS_rss_file, PROCESS_rss_shmem};
    for (size_t i = 0; i < sizeof(ids) / sizeof(*ids); i++) {
        if (m->row.absent[ids[i]] == BARO_PRESENT || m->row.absent[ids[i]] == BARO_ABSENT_GONE ||
            m->row.absent[ids[i]] == BARO_ABSENT_SHARED)
            set(m, ids[i], 0);
    }
    set(m, PROCESS_rss, 0);
}

/* Makes the values of memory absent. If the thread group leader has exited and other threads are running, there is no
 * mm to read. Example: without this, the 31.6 MB of pss that were read last would be in every later sample. */
static void lose_memory(struct member *m)
{
    static const enum process_metric ids[] = {PROCESS_rss, PROCESS_virtual, PROCESS_pss, PROCESS_uss, PROCESS_smaps_at};
    for (size_t i = 0; i < sizeof(ids) / sizeof(*ids); i++)
        unset(m, ids[i], BARO_ABSENT_GONE);
}

/* Has its parent just reaped it? The kernel then prints no parent and no threads (do_task_stat() without a sighand).
 * Example: of 20 children of 1 ms on a busy machine two were read in this state, and had parent 0 on the tape. */
static bool is_released(const struct pid_stat *st)
{
    return st->num_threads == 0;
}

/* May the process still execute a program, so that its name is not final? A child has its parent's name until then,
 * mostly for less than a millisecond. Example: a shell forks at 100.0 ms. Its child is read at 100.2 ms as `sh`, is
 * `true` from 100.5 ms on, and has ended when it is read again at 110 ms: its name is not known. If an event reported
 * the fork, events report its programs, too. */
#define PF_FORKNOEXEC 0x40u
#define EXECUTES_WITHIN (20 * NS_PER_MS) /* start times are rounded down to 10 ms */
#define EXECUTES_BEFORE (2 * NS_PER_MS)  /* a process that has used more CPU time does not just execute a program */
static bool may_execute(const struct processes *p, const struct member *m, const struct pid_stat *st, uint64_t clock_ns)
{
    uint64_t begin_ns = job_begin_ns(p->sampling->job, st->starttime);
    return !m->events.followed && (st->flags & PF_FORKNOEXEC) && st->state != 'Z' && begin_ns &&
           p->sampling->now_ns < begin_ns + EXECUTES_WITHIN && clock_ns < EXECUTES_BEFORE;
}

static const enum process_metric memory_metrics[] = {
    PROCESS_rss,  PROCESS_rss_peak, PROCESS_pss,      PROCESS_uss,
    PROCESS_swap, PROCESS_rss_anon, PROCESS_rss_file, PROCESS_rss_shmem,
};

/* Makes the memory of a process absent that uses the address space of another one, where it is counted. Such a process
 * is read with each tick, because nothing of it changes when the other one ends. */
static void put_shared_memory(struct processes *p, struct member *m, const struct pid_stat *st)
{
    bool was_shared = m->reading.memory_owner.pid > 0, is_shared = memory_is_shared(p, m, st);
    for (size_t i = 0; i < sizeof(memory_metrics) / sizeof(*memory_metrics) && is_shared != was_shared; i++)
        unset(m, memory_metrics[i], is_shared ? BARO_ABSENT_SHARED : BARO_ABSENT_NOT_YET);
    if (is_shared != was_shared)
        m->reading.smaps_barred = is_shared;
    if (is_shared)
        member_wake(m);
    else if (was_shared) { /* everything is read again */
        m->reading.stat_rss = m->reading.status_key = m->reading.smaps_key = UINT64_MAX;
        m->reading.status_rss = 0;
    }
}

static void put_stat(struct processes *p, struct member *m, const struct pid_stat *st, uint64_t clock_ns)
{
    member_moved(m);
    if (st->sigignore >> (SIGCHLD - 1) & 1)
        job_ignores_children(p->sampling->job, m);
    put_comm(m, st->comm);
    m->reading.name_is_parents = may_execute(p, m, st, clock_ns);
    if (!is_released(st))
        put_parent(p, m, st->ppid);
    put_cpu(p, m, st, clock_ns);
    set_counter(m, PROCESS_faults_minor, st->minflt);
    set_counter(m, PROCESS_faults_major, st->majflt);
    set_counter(m, PROCESS_children_faults_minor, st->cminflt);
    set_counter(m, PROCESS_children_faults_major, st->cmajflt);
    set(m, PROCESS_state, (uint8_t)st->state);
    set(m, PROCESS_nice, (uint64_t)st->nice);
    if (!is_released(st))
        set(m, PROCESS_threads, st->num_threads);
    /* A zombie has no memory; but if only the leader has exited and threads are running, their memory is not known. */
    bool hollow = st->state == 'Z' && st->num_threads > 1;
    if (hollow) {
        lose_memory(m);
        return;
    }
    m->reading.has_no_memory = !st->vsize;
    /* A process gives up its memory before it is a zombie. Up to here its row has what it shared. */
    if (st->state == 'Z' || (!st->rss && m->row.value[PROCESS_rss]))
        memory_left(p->memory, m, st->state == 'Z');
    put_shared_memory(p, m, st);
    put_rss(m, st->rss * p->sampling->options.page_size);
    set(m, PROCESS_virtual, st->vsize);
    if (st->state == 'Z')
        forget_memory(m);
}

/* Values that are not read in each tick, and reads that were left out for the budget, are due once a second; context
 * switches of a process with one thread every ten seconds. Example: a process was read at 0.1 s, and from 0.3 s on
 * reads are left out for the budget: they are due at 1.1 s. When a process starts its second thread, it is due at once.
 */
uint64_t process_due_ns(const struct processes *p, const struct member *m)
{
    bool several = m->row.value[PROCESS_threads] > 1, sparse = p->sampling->account->budget.level >= BUDGET_SPARSE;
    if (!m->reading.due_read_ns || (several && !m->reading.has_threads))
        return 0;
    return m->reading.due_read_ns + (several || sparse ? NS_PER_SEC : SWITCHES_EVERY);
}

/* Was a peak missed if status is not read now? As long as a process grows, rss in stat is its peak. */
static bool may_have_peaked(const struct processes *p, const struct member *m)
{
    uint64_t faults = memory_key(m) - m->reading.stat_rss, then = m->reading.status_key - m->reading.status_rss;
    return memory_may_have_peaked(m->reading.status_rss, m->reading.stat_rss,
                                  (faults - then) * p->sampling->options.page_size, m->row.value[PROCESS_rss_peak]);
}

/* Should status be read? It is if memory has changed; if the budget is short, only if the peak may be too low by now,
 * or from time to time. Context switches change whenever the process has run, and are read less often. */
static bool wants_status(struct processes *p, struct member *m, bool now_due)
{
    bool moved = memory_key(m) != m->reading.status_key || m->row.absent[PROCESS_rss_peak] == BARO_ABSENT_NOT_YET;
    bool sparse = p->sampling->account->budget.level >= BUDGET_SPARSE && !now_due && !may_have_peaked(p, m);
    p->sampling->thinned += sparse && moved;
    m->reading.pending |= sparse && moved;
    return now_due || (moved && !sparse);
}

static const struct {
    enum pid_status_field field;
    enum process_metric metric;
} status_metrics[] = {
    {STATUS_VM_HWM, PROCESS_rss_peak},   {STATUS_VM_SWAP, PROCESS_swap},        {STATUS_RSS_ANON, PROCESS_rss_anon},
    {STATUS_RSS_FILE, PROCESS_rss_file}, {STATUS_RSS_SHMEM, PROCESS_rss_shmem},
};

static const struct {
    enum process_metric metric;
    enum base_counter base;
} thread_sums[THREAD_SUM_MAX] = {
    [THREAD_SUM_DELAY] = {PROCESS_run_delay, BASE_RUN_DELAY},
    [THREAD_SUM_VOLUNTARY] = {PROCESS_switches_voluntary, BASE_SWITCHES_VOLUNTARY},
    [THREAD_SUM_INVOLUNTARY] = {PROCESS_switches_involuntary, BASE_SWITCHES_INVOLUNTARY},
};

/* Adds the growth of a sum over living threads to a counter. (The sum falls when a thread ends.) Example: four threads
 * have waited 8 s and end: the counter stays at 8 s. Four new ones have waited 1 s when they are read next: 9 s. The
 * sum of a process that began before the recording does not count when it is first read. */
static void put_sum(struct member *m, enum thread_sum of, uint64_t sum)
{
    enum process_metric id = thread_sums[of].metric;
    uint64_t before = m->reading.thread_sum[of];
    m->reading.thread_sum[of] = sum;
    if (m->row.absent[id] == BARO_PRESENT) {
        m->row.value[id] += sum > before ? sum - before : 0;
        return;
    }
    set(m, id, sum);
    if (m->account.base && !m->account.base_is_total)
        m->account.base[thread_sums[of].base] = sum;
}

static void put_switches(struct member *m, uint64_t voluntary, uint64_t involuntary)
{
    put_sum(m, THREAD_SUM_VOLUNTARY, voluntary);
    put_sum(m, THREAD_SUM_INVOLUNTARY, involuntary);
}

static void read_status(struct processes *p, struct member *m)
{
    struct pid_status st;
    ssize_t n = fd_cache_read(&p->cache, m, FD_CACHE_STATUS, "status", sizeof(p->sampling->text));
    int reason = n < 0 ? proc_absent((int)-n) : BARO_ABSENT_UNSUPPORTED;
    bool ok = n > 0 && pid_status_parse(span_of(p->sampling->text, (size_t)n), &st) == 0;
    /* A process that is exiting and has released its mm has no Vm lines. */
    bool hollow = ok && !(st.valid & 1u << STATUS_VM_RSS);
    for (size_t i = 0; i < sizeof(status_metrics) / sizeof(*status_metrics); i++) {
        enum process_metric id = status_metrics[i].metric;
        if (m->reading.memory_owner.pid)
            continue;
        if (ok && (st.valid & 1u << status_metrics[i].field))
            set(m, id, st.value[status_metrics[i].field]);
        else if (hollow && id == PROCESS_rss_peak && m->row.absent[id] == BARO_PRESENT)
            continue; /* the peak stays valid */
        else
            unset(m, id, hollow ? BARO_ABSENT_GONE : reason);
    }
    if (!ok)
        return;
    if ((st.valid & 1u << STATUS_UID) && m->row.uid != (uint32_t)st.value[STATUS_UID]) {
        m->row.uid = (uint32_t)st.value[STATUS_UID];
        m->row.info_version++;
    }
    if (m->row.value[PROCESS_threads] == 1 && (st.valid & 1u << STATUS_SWITCHES_VOLUNTARY)) {
        put_switches(m, st.value[STATUS_SWITCHES_VOLUNTARY], st.value[STATUS_SWITCHES_INVOLUNTARY]);
    }
    m->reading.status_key = memory_key(m);
    m->reading.status_rss = m->reading.stat_rss;
    if (!hollow && m->row.value[PROCESS_state] != 'Z')
        process_set_rss(m, st.value[STATUS_VM_RSS]);
}

static void read_io(struct processes *p, struct member *m)
{
    static const enum process_metric to[IO_MAX] = {
        [IO_RCHAR] = PROCESS_io_rchar,
        [IO_WCHAR] = PROCESS_io_wchar,
        [IO_READ_BYTES] = PROCESS_io_read,
        [IO_WRITE_BYTES] = PROCESS_io_write,
        [IO_CANCELLED_WRITE_BYTES] = PROCESS_io_cancelled_write,
    };
    struct pid_io io;
    ssize_t n = fd_cache_read(&p->cache, m, FD_CACHE_IO, "io", sizeof(p->sampling->text));
    bool ok = n > 0 && pid_io_parse(span_of(p->sampling->text, (size_t)n), &io) == 0;
    for (int i = 0; i < IO_MAX; i++) {
        if (i == IO_SYSCR || i == IO_SYSCW)
            continue;
        if (ok && (io.valid & 1u << i))
            set_counter(m, to[i], io.value[i]);
        else if (m->row.absent[to[i]] != BARO_PRESENT)
            unset(m, to[i], n < 0 ? proc_absent((int)-n) : BARO_ABSENT_UNSUPPORTED);
    }
    if (ok) /* stat is always read before io */
        m->account.io_as_of_faults = m->row.value[PROCESS_children_faults_minor];
    m->life.io_final |= ok && member_is_zombie(m);
}

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

/* ---- threads ---- */

static void put_delay(struct processes *p, struct member *m, const struct thread_sums *sums)
{
    if (sums->has_delay) {
        put_sum(m, THREAD_SUM_DELAY, sums->delay);
        m->reading.delay_cpu_ns = m->row.value[PROCESS_cpu];
        m->reading.delay_ns = p->sampling->now_ns;
        put_lag(m);
    } else if (m->row.absent[PROCESS_run_delay] == BARO_ABSENT_NOT_YET) {
        unset(m, PROCESS_run_delay, BARO_ABSENT_UNSUPPORTED);
        unset(m, PROCESS_run_delay_lag, BARO_ABSENT_UNSUPPORTED);
    }
}

/* Reads run delay and context switches, which /proc has by thread, in one or two files for each. Run delay is read in
 * each sample, and context switches, whose file costs more, once a second; both less often if they take more than a
 * quarter of the budget. Reads that were left out are made later, even if the process sleeps by then. */
static void read_threads(struct processes *p, struct member *m, bool now_due)
{
    struct thread_sums sums;
    uint64_t begin = 0;
    m->reading.has_threads = true;
    if (!threads_may_read(&p->threads, m->reading.delay_ns)) {
        m->reading.pending = true;
        return;
    }
    clock_process_cpu_ns(0, &begin);
    threads_sum(&p->threads, m->row.key.pid, now_due, &sums);
    put_delay(p, m, &sums);
    if (sums.has_switches)
        put_switches(m, sums.voluntary, sums.involuntary);
    threads_were_read(&p->threads, begin);
}

/* Reads the run delay of a process with one thread, whose context switches are in status. */
static void read_thread(struct processes *p, struct member *m)
{
    struct thread_sums sums = {0};
    struct pid_schedstat ss;
    ssize_t len = fd_cache_read(&p->cache, m, FD_CACHE_SCHEDSTAT, "schedstat", 256);
    if (len > 0 && pid_schedstat_parse(span_of(p->sampling->text, (size_t)len), &ss) == 0) {
        sums.delay = ss.delay_ns;
        sums.has_delay = true;
    }
    put_delay(p, m, &sums);
}

/* May a read be done that is left out from level `from` on? If not, it is counted, and made later. */
static bool allowed(struct processes *p, struct member *m, enum budget_level from, bool now_due)
{
    bool is_allowed = p->sampling->account->budget.level < from || now_due;
    p->sampling->thinned += !is_allowed;
    m->reading.pending |= !is_allowed;
    return is_allowed;
}

static void read_delays(struct processes *p, struct member *m, bool now_due)
{
    if (m->row.value[PROCESS_threads] > 1) {
        read_threads(p, m, now_due);
        return;
    }
    if ((p->sampling->need & BARO_SOURCE_SCHEDSTAT) && allowed(p, m, BUDGET_LEAST, now_due))
        read_thread(p, m);
}

static void read_fds(struct processes *p, struct member *m)
{
    int64_t fds = fd_cache_count(&p->cache, m);
    bool hollow = m->row.value[PROCESS_state] == 'Z' && m->row.value[PROCESS_threads] > 1;
    if (hollow && fds == 0) /* the leader has exited and closed its table; the other threads still have one */
        unset(m, PROCESS_fds, BARO_ABSENT_GONE);
    else if (fds >= 0)
        set(m, PROCESS_fds, (uint64_t)fds);
    else
        unset(m, PROCESS_fds, proc_absent((int)-fds));
}

/* ---- reading a process ---- */

/* Does the pid still belong to this member? A member that only events have reported has no start time yet. It gets the
 * one in stat, unless that is after its end, or the process is alive although an event had the exit status of the
 * member. Example: a member was alive from 1.2 to 1.6 ms, and another process has its pid from 1.7 ms on, in the same
 * tick. */
static bool is_same_member(const struct processes *p, struct member *m, const struct pid_stat *st)
{
    if (m->reading.stat_was_read)
        return m->row.key.start == st->starttime;
    uint64_t begin_ns = job_begin_ns(p->sampling->job, st->starttime);
    bool lives = st->state != 'Z' && !(st->flags & PROC_PF_EXITING);
    if (member_state(m) != MEMBER_ALIVE && (begin_ns > m->life.end_ns || (lives && m->life.status_known)))
        return false;
    m->row.key.start = st->starttime;
    m->reading.stat_was_read = true;
    if (!m->life.begin_ns)
        m->life.begin_ns = begin_ns;
    return true;
}

/* Has the process just begun? If many short processes are started, most are read once or never, so the first read takes
 * only stat and status. The I/O of a short process is in the counters of its parent. */
static bool is_recent(const struct processes *p, const struct member *m)
{
    return m->life.begin_ns && p->sampling->now_ns < m->life.begin_ns + YOUNG_NS && !m->reading.sampled &&
           !m->is_target;
}

/* Is it a new process whose I/O an event will report when it ends? Most new processes end soon, so their I/O is not
 * read.
 */
static bool is_young_and_reported(const struct processes *p, const struct member *m)
{
    return p->sampling->job->source.ends_reported && !p->sampling->job->settling.closing && m->links.parent &&
           m->life.begin_ns && p->sampling->now_ns < m->life.begin_ns + YOUNG_REPORTED_NS && !m->is_target;
}

/* Reports how much memory has changed: the larger one of the change of rss and of the page faults. A write to a shared
 * page makes a private copy, which shows in the page faults only. Example: 1,000 minor faults with the same rss are 4
 * MB. */
static void note_growth(struct processes *p, const struct member *m, uint64_t key, uint64_t stat_rss)
{
    uint64_t now = m->reading.stat_rss, moved = memory_key(m) - now - (key - stat_rss);
    if (!m->reading.sampled || memory_key(m) == key)
        return;
    uint64_t faults = moved < now / p->sampling->options.page_size ? moved * p->sampling->options.page_size : now;
    uint64_t rss = now > stat_rss ? now - stat_rss : stat_rss - now;
    memory_moved_by(p->memory, m, rss > faults ? rss : faults);
}

/* Reads the CPU clock of a process that has ended again, because it may have run between the reads of its clock and of
 * stat. Example: the clock is at 40 ms; the process runs for another 60 ms and ends before stat is read. Returns false
 * if the process does not exist any more: then 40 ms may be too little. */
static bool read_last_clock(const struct member *m, uint64_t *clock_ns)
{
    uint64_t now_ns;
    if (process_clock(m, &now_ns) < 0 || !now_ns)
        return false;
    *clock_ns = now_ns;
    return true;
}

int process_read(struct processes *p, struct member *m, uint64_t clock_ns, enum process_depth depth)
{
    struct pid_stat st;
    ssize_t n = fd_cache_read(&p->cache, m, FD_CACHE_STAT, "stat", 2048);
    if (n <= 0 && n != -ESRCH && n != -ENOENT && n != 0)
        return (int)n;
    if (n <= 0 || pid_stat_parse(span_of(p->sampling->text, (size_t)n), &st) != 0)
        return n > 0 ? BARO_E_SYNTAX : -ESRCH;
    if (!is_same_member(p, m, &st))
        return -ESRCH;
    uint64_t key = memory_key(m), stat_rss = m->reading.stat_rss;
    m->life.cpu_final |= is_zombie(&st) && read_last_clock(m, &clock_ns);
    put_stat(p, m, &st, clock_ns);
    note_growth(p, m, key, stat_rss);
    /* Between two samples, as at an exec, only stat is read. The next tick reads the rest, even if the process sleeps
     * by then. */
    m->reading.forced = depth < PROCESS_REFRESH && (m->reading.forced || clock_ns != m->reading.clock_ns);
    m->reading.clock_ns = clock_ns;
    if (depth == PROCESS_LEDGER && (p->sampling->need & BARO_SOURCE_IO))
        read_io(p, m);
    if (depth < PROCESS_REFRESH)
        return 0;
    bool now_due = depth == PROCESS_WHOLE && p->sampling->now_ns >= process_due_ns(p, m);
    m->reading.pending &= !now_due;
    if ((p->sampling->need & (BARO_SOURCE_STATUS | BARO_SOURCE_TASKS)) && wants_status(p, m, now_due))
        read_status(p, m);
    if (depth == PROCESS_REFRESH)
        return 0;
    if (is_recent(p, m)) {
        member_wake(m); /* the next tick reads the rest, even if the process sleeps */
        return 0;
    }
    if ((p->sampling->need & BARO_SOURCE_FD) && allowed(p, m, BUDGET_SPARSE, now_due))
        read_fds(p, m);
    if (is_young_and_reported(p, m)) {
        member_wake(m);
        return 0;
    }
    if ((p->sampling->need & BARO_SOURCE_IO) && allowed(p, m, BUDGET_LEAST, now_due))
        read_io(p, m);
    if (p->sampling->need & (BARO_SOURCE_SCHEDSTAT | BARO_SOURCE_TASKS))
        read_delays(p, m, now_due);
    if (now_due)
        m->reading.due_read_ns = p->sampling->now_ns;
    return 0;
}

void process_take_zombie(struct processes *p, struct member *m, const struct process_zombie *z)
{
    struct pid_stat st;
    if (z->stat.len && pid_stat_parse(z->stat, &st) == 0 && is_same_member(p, m, &st)) {
        struct baro_process *row = &m->row;
        uint64_t rss = row->value[PROCESS_rss], virtual = row->value[PROCESS_virtual];
        m->life.cpu_final |= z->cpu_ns && is_zombie(&st);
        put_stat(p, m, &st, z->cpu_ns);
        row->value[PROCESS_rss] = rss;
        row->value[PROCESS_virtual] = virtual;
    }
    member_moved(m);
    for (size_t i = 0; i < IO_METRICS; i++) {
        if (z->io.valid & 1u << io_metrics[i].field)
            set_counter(m, io_metrics[i].metric, z->io.value[io_metrics[i].field]);
    }
    if (z->io.valid)
        m->account.io_as_of_faults = m->row.value[PROCESS_children_faults_minor];
    m->life.io_final |= z->io_known;
    m->reaped_io.known = z->stat.len && z->io_known && z->own_io_known && put_reaped_io(m, &z->io, &z->own_io);
}
