/* SPDX-License-Identifier: Apache-2.0 */
#include "recorder/collectors/processes/process_parts.h"
#include "recorder/collectors/processes/pss_sharing.h"

#define YOUNG_NS (20 * NS_PER_MS)
#define YOUNG_REPORTED_NS (100 * NS_PER_MS)
#define LARGE_PART 16u                   /* a process with less of the job's memory is small */
#define SWITCHES_EVERY (10 * NS_PER_SEC) /* reading status costs as much as stat, io and schedstat together */

static bool is_zombie(const struct pid_stat *st)
{
    return st->state == 'Z' && st->num_threads <= 1;
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

/* Is it a new process whose I/O and peak an event will report when it ends? Most new processes end soon, so their I/O
 * is not read. */
static bool is_young_and_reported(const struct processes *p, const struct member *m)
{
    return p->sampling->job->source.ends_reported && !p->sampling->job->settling.closing && m->links.parent &&
           m->life.begin_ns && p->sampling->now_ns < m->life.begin_ns + YOUNG_REPORTED_NS && !m->is_target;
}

/* May a peak be missed if status is not read now? As long as a process grows, its rss in stat is its peak. */
static bool may_have_peaked(const struct processes *p, const struct member *m)
{
    uint64_t faults = memory_key(m) - m->reading.stat_rss, then = m->reading.status_key - m->reading.status_rss;
    return memory_may_have_peaked(m->reading.status_rss, m->reading.stat_rss,
                                  (faults - then) * p->sampling->options.page_size, m->row.value[PROCESS_rss_peak]);
}

/* Should status be read? It is if memory has changed; if the budget is short, only if the peak may be too low by now,
 * or from time to time, and of a new process whose end will be reported only if it holds much of the job's memory:
 * opening the first files of a process costs the most. Context switches change whenever the process has run, and are
 * read less often. */
static bool wants_status(struct processes *p, struct member *m, bool now_due)
{
    bool moved = memory_key(m) != m->reading.status_key || m->row.absent[PROCESS_rss_peak] == BARO_ABSENT_NOT_YET;
    bool due = now_due || may_have_peaked(p, m), sparse = p->sampling->account->budget.level >= BUDGET_SPARSE;
    if (sparse && is_young_and_reported(p, m)) {
        bool is_large = m->reading.stat_rss >= p->sampling->job->sums[PART_RSS] / LARGE_PART;
        due = m->reading.status_rss ? may_have_peaked(p, m) : is_large;
    }
    sparse = sparse && !due;
    p->sampling->thinned += sparse && moved;
    m->reading.pending |= sparse && moved;
    return !sparse && (now_due || moved);
}

static const struct {
    enum pid_status_field field;
    enum process_metric metric;
} status_metrics[] = {
    {STATUS_VM_HWM, PROCESS_rss_peak},    {STATUS_VM_SWAP, PROCESS_swap},        {STATUS_RSS_ANON, PROCESS_rss_anon},
    {STATUS_RSS_FILE, PROCESS_rss_file},  {STATUS_RSS_SHMEM, PROCESS_rss_shmem}, {STATUS_HUGETLB, PROCESS_hugetlb},
    {STATUS_VM_PTE, PROCESS_page_tables},
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
    member_set_value(m, id, sum);
    if (m->account.base)
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
    ssize_t n = fd_cache_read(&p->cache, m, FD_CACHE_STATUS, "status", SAMPLING_TEXT);
    int reason = n < 0 ? proc_absent((int)-n) : BARO_ABSENT_UNSUPPORTED;
    bool ok = n > 0 && pid_status_parse(span_of(p->sampling->text, (size_t)n), &st) == 0;
    /* A process that is exiting and has released its mm has no Vm lines. */
    bool hollow = ok && !(st.valid & 1u << STATUS_VM_RSS);
    for (size_t i = 0; i < sizeof(status_metrics) / sizeof(*status_metrics); i++) {
        enum process_metric id = status_metrics[i].metric;
        if (m->reading.memory_owner.pid)
            continue;
        if (ok && (st.valid & 1u << status_metrics[i].field))
            member_set_value(m, id, st.value[status_metrics[i].field]);
        else if (hollow && id == PROCESS_rss_peak && m->row.absent[id] == BARO_PRESENT)
            continue; /* the peak stays valid */
        else
            member_set_absent(m, id, hollow ? BARO_ABSENT_GONE : reason);
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

/* ---- threads ---- */

static void put_delay(struct processes *p, struct member *m, const struct thread_sums *sums)
{
    if (sums->has_delay) {
        put_sum(m, THREAD_SUM_DELAY, sums->delay);
        m->reading.delay_cpu_ns = m->row.value[PROCESS_cpu];
        m->reading.delay_ns = p->sampling->now_ns;
        process_put_lag(m);
    } else if (m->row.absent[PROCESS_run_delay] == BARO_ABSENT_NOT_YET) {
        member_set_absent(m, PROCESS_run_delay, BARO_ABSENT_UNSUPPORTED);
        member_set_absent(m, PROCESS_run_delay_lag, BARO_ABSENT_UNSUPPORTED);
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

/* May a read be done that is left out from budget level `from` on? If not, it is counted as left out, and done later.
 */
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
        member_set_absent(m, PROCESS_fds, BARO_ABSENT_GONE);
    else if (fds >= 0)
        member_set_value(m, PROCESS_fds, (uint64_t)fds);
    else
        member_set_absent(m, PROCESS_fds, proc_absent((int)-fds));
}

/* Reads the limit of CPU time, which is a second at least. A process may set it late, so it is read again each time the
 * CPU time has doubled: 18 times in a day. The kernel compares ticks with it. Example: on a busy machine a process had
 * used 0.88 s when the 250 ticks of 4 ms had hit it for which it was killed. */
#define LIMIT_FROM (NS_PER_SEC / 2)
static void read_cpu_limit(struct processes *p, struct member *m)
{
    uint64_t cpu_ns = m->row.value[PROCESS_cpu], ticks_ns;
    struct sampling *g = p->sampling;
    struct pid_limits limits;
    if (cpu_ns >= LIMIT_FROM && cpu_ns >= 2 * m->limit.limit_at_ns) {
        ssize_t n = proc_read(g->options.proc_fd, m->row.key.pid, "limits", g->text, SAMPLING_TEXT);
        bool ok = n > 0 && pid_limits_parse(span_of(g->text, (size_t)n), &limits) == 0;
        uint64_t s = ok && (limits.valid & 1u << PID_LIMIT_CPU) ? limits.value[PID_LIMIT_CPU] : UINT64_MAX;
        m->limit.cpu_limit_ns = s < UINT64_MAX / NS_PER_SEC ? s * NS_PER_SEC : 0;
        m->limit.limit_at_ns = cpu_ns;
    }
    if (m->limit.cpu_limit_ns && cpu_ns && clock_process_ticks_ns(m->row.key.pid, &ticks_ns) == 0)
        m->limit.ticks_ratio = (float)ticks_ns / (float)cpu_ns;
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
    sharing_note_moved(p->memory, m, rss > faults ? rss : faults);
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
    process_put_stat(p, m, &st, clock_ns);
    note_growth(p, m, key, stat_rss);
    read_cpu_limit(p, m);
    /* Between two samples, as at an exec, only stat is read. The next tick reads the rest, even if the process sleeps
     * by then. */
    m->reading.forced = depth < PROCESS_REFRESH && (m->reading.forced || clock_ns != m->reading.clock_ns);
    m->reading.clock_ns = clock_ns;
    if (depth == PROCESS_LEDGER && (p->sampling->need & BARO_SOURCE_IO))
        process_read_io(p, m);
    else if (depth != PROCESS_REFRESH)
        process_left_io(p, m); /* until it is read below, or later */
    if (depth < PROCESS_REFRESH)
        return 0;
    bool now_due = depth == PROCESS_WHOLE && p->sampling->now_ns >= process_due_ns(p, m);
    m->reading.pending &= !now_due;
    if ((p->sampling->need & (BARO_SOURCE_STATUS | BARO_SOURCE_TASKS)) && wants_status(p, m, now_due))
        read_status(p, m);
    sharing_note_files(p->memory, m);
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
        process_read_io(p, m);
    if (p->sampling->need & (BARO_SOURCE_SCHEDSTAT | BARO_SOURCE_TASKS))
        read_delays(p, m, now_due);
    if (now_due)
        m->reading.due_read_ns = p->sampling->now_ns;
    return 0;
}

void process_begin(struct processes *p, struct member *m, const struct pid_stat *st, uint64_t clock_ns)
{
    if (!is_same_member(p, m, st))
        return;
    process_put_stat(p, m, st, clock_ns);
    m->reading.clock_ns = clock_ns;
    process_left_io(p, m);
    member_wake(m); /* the next tick reads the rest, even if the process sleeps by then */
}

void process_take_zombie(struct processes *p, struct member *m, const struct process_zombie *z)
{
    struct pid_stat st;
    if (z->stat.len && pid_stat_parse(z->stat, &st) == 0 && is_same_member(p, m, &st)) {
        struct baro_process *row = &m->row;
        uint64_t rss = row->value[PROCESS_rss], virtual = row->value[PROCESS_virtual];
        m->life.cpu_final |= z->cpu_ns && is_zombie(&st);
        process_put_stat(p, m, &st, z->cpu_ns);
        row->value[PROCESS_rss] = rss;
        row->value[PROCESS_virtual] = virtual;
    }
    member_moved(m);
    process_put_zombie_io(m, z);
}
