/* SPDX-License-Identifier: Apache-2.0 */
/* One process: which of its files are worth reading now, and their values put into its row. */
#include <errno.h>
#include <stdio.h>
#include <string.h>

#include "base/clock.h"
#include "collect/sampler.h"

#define YOUNG_NS (20 * NS_PER_MS)
#define YOUNG_TOLD_NS (100 * NS_PER_MS)
#define THREADS_PART 4u
#define SWITCHES_EVERY (10 * NS_PER_SEC) /* status costs as much as stat, io and schedstat together */

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

/* A counter that a race or scaling lets fall is held. */
static void set_counter(struct member *m, enum process_metric id, uint64_t v)
{
    if (m->row.absent[id] == BARO_PRESENT && v < m->row.value[id])
        return;
    set(m, id, v);
}

static void put_cpu(struct sampler *s, struct member *m, const struct pid_stat *st, uint64_t clock_ns)
{
    uint64_t cpu = clock_ns ? clock_ns : (st->utime + st->stime) * s->job->ns_per_tick;
    uint64_t before = m->row.value[PROCESS_cpu];
    if (cpu < before)
        cpu = before;
    uint64_t ticks = st->utime + st->stime;
    uint64_t user = ticks ? (uint64_t)((double)cpu * ((double)st->utime / (double)ticks)) : cpu;
    /* As the kernel's own cputime_adjust(): neither part falls, and their sum is the precise run time. */
    uint64_t user_before = m->row.value[PROCESS_cpu_user];
    uint64_t most = user_before + (cpu - before);
    user = user < user_before ? user_before : user > most ? most : user;
    set(m, PROCESS_cpu, cpu);
    set(m, PROCESS_cpu_user, user);
    set(m, PROCESS_cpu_system, cpu - user);
    set_counter(m, PROCESS_children_cpu_user, st->cutime * s->job->ns_per_tick);
    set_counter(m, PROCESS_children_cpu_system, st->cstime * s->job->ns_per_tick);
}

static void put_parent(struct sampler *s, struct member *m, int32_t ppid)
{
    if (m->row.parent.pid == ppid && (m->parent || !m->force))
        return;
    struct member *parent = tree_find(&s->job->tree, ppid);
    if (parent == m)
        parent = NULL;
    if (parent != m->parent)
        tree_set_parent(m, parent);
    if (!parent && m->row.parent.pid != ppid) {
        m->row.parent = (struct baro_key){ppid, 0};
        m->row.info_version++;
    }
}

void sampler_renamed(struct member *m)
{
    m->note.info_wanted = true;
    m->note.info_asked = false; /* an answer that is under way is about what it was before */
    m->note.info_tries = 0;
}

void sampler_set_name(struct member *m, const char *comm)
{
    char name[64];
    redact_name_to(comm, name, sizeof(name));
    member_set_name(m, name);
}

static void put_comm(struct member *m, const char *comm)
{
    if (strncmp(m->note.comm, comm, sizeof(m->note.comm) - 1) == 0)
        return;
    member_note_comm(m, comm);
    sampler_renamed(m);
    sampler_set_name(m, comm);
}

/* Since 6.2 stat shows what the CPUs have handed in, in lots of 32 pages and more for each, so that of a small process
 * it shows nothing; status sums it up since 6.16. So stat tells that something changed, and status how much there is,
 * if it is read. */
static void put_rss(struct member *m, uint64_t rss)
{
    if (rss == m->note.stat_rss && m->row.absent[PROCESS_rss] == BARO_PRESENT)
        return;
    m->note.stat_rss = rss;
    set(m, PROCESS_rss, rss);
}

/* What has ended holds none, whatever was seen of it last. */
static void forget_memory(struct member *m)
{
    static const enum process_metric ids[] = {PROCESS_pss,      PROCESS_uss,      PROCESS_swap,
                                              PROCESS_rss_anon, PROCESS_rss_file, PROCESS_rss_shmem};
    for (size_t i = 0; i < sizeof(ids) / sizeof(*ids); i++) {
        if (m->row.absent[ids[i]] == BARO_PRESENT || m->row.absent[ids[i]] == BARO_ABSENT_GONE)
            set(m, ids[i], 0);
    }
    set(m, PROCESS_rss, 0);
}

/* A leader that has exited has no memory to read (its mm is gone) while its threads go on. What was read before that is
 * not kept: 31.6 MB of pss would stand in every later sample, whatever the threads do. */
static void lose_memory(struct member *m)
{
    static const enum process_metric ids[] = {PROCESS_rss, PROCESS_virtual, PROCESS_pss, PROCESS_uss, PROCESS_smaps_at};
    for (size_t i = 0; i < sizeof(ids) / sizeof(*ids); i++)
        unset(m, ids[i], BARO_ABSENT_GONE);
}

static void put_stat(struct sampler *s, struct member *m, const struct pid_stat *st, uint64_t clock_ns)
{
    member_moved(m);
    put_comm(m, st->comm);
    put_parent(s, m, st->ppid);
    put_cpu(s, m, st, clock_ns);
    set_counter(m, PROCESS_faults_minor, st->minflt);
    set_counter(m, PROCESS_faults_major, st->majflt);
    set_counter(m, PROCESS_children_faults_minor, st->cminflt);
    set_counter(m, PROCESS_children_faults_major, st->cmajflt);
    set(m, PROCESS_state, (uint8_t)st->state);
    set(m, PROCESS_nice, (uint64_t)st->nice);
    set(m, PROCESS_threads, st->num_threads);
    /* The mm of a zombie is gone, so it holds no memory; as long as threads run behind a dead leader that is not known.
     */
    bool hollow = st->state == 'Z' && st->num_threads > 1;
    if (hollow) {
        lose_memory(m);
        return;
    }
    put_rss(m, st->rss * s->options.page_size);
    set(m, PROCESS_virtual, st->vsize);
    if (st->state == 'Z')
        forget_memory(m);
}

static bool due(const struct sampler *s, const struct member *m)
{
    return s->now_ns >= m->note.switches_due;
}

uint64_t process_memory_key(const struct member *m)
{
    return m->row.value[PROCESS_faults_minor] + m->row.value[PROCESS_faults_major] + m->note.stat_rss;
}

/* status changes where memory did; switches change whenever the process ran and are worth a read once in a while. */
static bool status_worth_it(struct sampler *s, struct member *m, bool now_due)
{
    bool moved = process_memory_key(m) != m->note.status_key || m->row.absent[PROCESS_rss_peak] == BARO_ABSENT_NOT_YET;
    bool sparse = s->budget.level >= BUDGET_SPARSE && !now_due;
    s->thinned += sparse && moved;
    m->owes |= sparse && moved;
    return now_due || (moved && !sparse);
}

static const struct {
    enum pid_status_field field;
    enum process_metric metric;
} status_metrics[] = {
    {STATUS_VM_HWM, PROCESS_rss_peak},       {STATUS_VM_SWAP, PROCESS_swap},
    {STATUS_RSS_ANON, PROCESS_rss_anon},     {STATUS_RSS_FILE, PROCESS_rss_file},
    {STATUS_RSS_SHMEM, PROCESS_rss_shmem},
};

static void read_status(struct sampler *s, struct member *m)
{
    struct pid_status st;
    ssize_t n = cache_read(s, m, CACHE_STATUS, "status", sizeof(s->text));
    int reason = n < 0 ? proc_absent((int)-n) : BARO_ABSENT_UNSUPPORTED;
    bool ok = n > 0 && pid_status_parse(span_of(s->text, (size_t)n), &st) == 0;
    /* Once it has let go of its memory, on the way to a zombie, there are no Vm lines. */
    bool hollow = ok && !(st.valid & 1u << STATUS_VM_RSS);
    for (size_t i = 0; i < sizeof(status_metrics) / sizeof(*status_metrics); i++) {
        enum process_metric id = status_metrics[i].metric;
        if (ok && (st.valid & 1u << status_metrics[i].field))
            set(m, id, st.value[status_metrics[i].field]);
        else if (hollow && id == PROCESS_rss_peak && m->row.absent[id] == BARO_PRESENT)
            continue; /* its mark outlives its memory */
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
        set_counter(m, PROCESS_switches_voluntary, st.value[STATUS_SWITCHES_VOLUNTARY]);
        set_counter(m, PROCESS_switches_involuntary, st.value[STATUS_SWITCHES_INVOLUNTARY]);
    }
    m->note.status_key = process_memory_key(m);
    if (!hollow && m->row.value[PROCESS_state] != 'Z')
        set(m, PROCESS_rss, st.value[STATUS_VM_RSS]);
}

static void read_io(struct sampler *s, struct member *m)
{
    static const enum process_metric to[IO_MAX] = {
        [IO_RCHAR] = PROCESS_io_rchar, [IO_WCHAR] = PROCESS_io_wchar, [IO_READ_BYTES] = PROCESS_io_read,
        [IO_WRITE_BYTES] = PROCESS_io_write, [IO_CANCELLED_WRITE_BYTES] = PROCESS_io_cancelled_write,
    };
    struct pid_io io;
    ssize_t n = cache_read(s, m, CACHE_IO, "io", sizeof(s->text));
    bool ok = n > 0 && pid_io_parse(span_of(s->text, (size_t)n), &io) == 0;
    for (int i = 0; i < IO_MAX; i++) {
        if (i == IO_SYSCR || i == IO_SYSCW)
            continue;
        if (ok && (io.valid & 1u << i))
            set_counter(m, to[i], io.value[i]);
        else if (m->row.absent[to[i]] != BARO_PRESENT)
            unset(m, to[i], n < 0 ? proc_absent((int)-n) : BARO_ABSENT_UNSUPPORTED);
    }
    if (ok && m->row.value[PROCESS_state] == 'Z' && m->row.value[PROCESS_threads] <= 1)
        m->io_final = true;
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
 * /proc/PID/io is what all threads did and signal->ioac (do_io_accounting() in fs/proc/base.c), to which the kernel
 * adds what threads did as they end, and children as they are reaped, with what those had reaped (wait_task_zombie(),
 * since 2.6.27). /proc/PID/task/PID/io is the thread's own. So of a process that never had a second thread the
 * difference is its children's. Example: rchar 104,862,600, of the thread itself 5,000: the children that it reaped had
 * read 104,857,600.
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

/* The clock of a process has what all its threads ran, also those that ended: where it is the same as the first
 * thread's there never was another. */
static bool only_thread_ever(struct sampler *s, int32_t pid)
{
    struct pid_schedstat ss;
    uint64_t clock_ns = 0;
    ssize_t n = proc_read_record(s->options.proc_fd, pid, "schedstat", s->text, 256);
    bool ok = n > 0 && pid_schedstat_parse(span_of(s->text, (size_t)n), &ss) == 0;
    return ok && clock_process_cpu_ns(pid, &clock_ns) == 0 && ss.run_ns == clock_ns;
}

/* The whole is read before (into the row) and after the thread's own: if it stood still, so did both parts of it. */
bool process_reaped_io(struct sampler *s, struct member *m)
{
    struct pid_io own, whole;
    char name[40];
    ssize_t n;
    if (!(s->need & BARO_SOURCE_IO) || m->row.value[PROCESS_threads] > 1 || !only_thread_ever(s, m->row.key.pid))
        return false;
    snprintf(name, sizeof(name), "task/%d/io", (int)m->row.key.pid);
    n = proc_read_record(s->options.proc_fd, m->row.key.pid, name, s->text, 512);
    if (n <= 0 || pid_io_parse(span_of(s->text, (size_t)n), &own) != 0)
        return false;
    n = cache_read(s, m, CACHE_IO, "io", 512);
    if (n <= 0 || pid_io_parse(span_of(s->text, (size_t)n), &whole) != 0)
        return false;
    for (size_t i = 0; i < IO_METRICS; i++) {
        if (m->row.absent[io_metrics[i].metric] == BARO_PRESENT &&
            m->row.value[io_metrics[i].metric] != whole.value[io_metrics[i].field])
            return false;
    }
    return put_reaped_io(m, &whole, &own);
}

/* ---- threads ---- */

struct thread_sums {
    struct sampler *s;
    int32_t pid;
    uint64_t delay, voluntary, involuntary;
    bool has_delay, has_switches;
};

static bool add_thread(void *context, int32_t tid)
{
    struct thread_sums *sums = context;
    struct sampler *s = sums->s;
    char name[40] = "task/";
    char digits[12];
    size_t n = 0, at = 5;
    for (int32_t v = tid; v > 0; v /= 10)
        digits[n++] = (char)('0' + v % 10);
    while (n)
        name[at++] = digits[--n];
    if (s->need & BARO_SOURCE_SCHEDSTAT) {
        struct pid_schedstat ss;
        memcpy(name + at, "/schedstat", 11);
        ssize_t len = proc_read_record(s->options.proc_fd, sums->pid, name, s->text, 256);
        if (len > 0 && pid_schedstat_parse(span_of(s->text, (size_t)len), &ss) == 0) {
            sums->delay += ss.delay_ns;
            sums->has_delay = true;
        }
    }
    if (s->need & BARO_SOURCE_TASKS) {
        struct pid_status st;
        memcpy(name + at, "/status", 8);
        ssize_t len = proc_read_record(s->options.proc_fd, sums->pid, name, s->text, sizeof(s->text));
        if (len > 0 && pid_status_parse(span_of(s->text, (size_t)len), &st) == 0 &&
            (st.valid & 1u << STATUS_SWITCHES_VOLUNTARY)) {
            sums->voluntary += st.value[STATUS_SWITCHES_VOLUNTARY];
            sums->involuntary += st.value[STATUS_SWITCHES_INVOLUNTARY];
            sums->has_switches = true;
        }
    }
    return true;
}

static void put_threads(struct member *m, const struct thread_sums *sums)
{
    if (sums->has_delay)
        set_counter(m, PROCESS_run_delay, sums->delay);
    else if (m->row.absent[PROCESS_run_delay] == BARO_ABSENT_NOT_YET)
        unset(m, PROCESS_run_delay, BARO_ABSENT_UNSUPPORTED);
    if (sums->has_switches) {
        set_counter(m, PROCESS_switches_voluntary, sums->voluntary);
        set_counter(m, PROCESS_switches_involuntary, sums->involuntary);
    }
}

bool process_threads_free(struct sampler *s)
{
    bool is_free = s->now_ns >= s->threads_free_ns;
    s->thinned += !is_free;
    return is_free;
}

uint64_t process_threads_took(struct sampler *s, uint64_t begin_cpu_ns)
{
    uint64_t end = begin_cpu_ns;
    clock_process_cpu_ns(0, &end);
    uint64_t pause = budget_pause(&s->budget, end - begin_cpu_ns, THREADS_PART);
    s->threads_free_ns = s->now_ns + pause;
    return pause;
}

/* Run delay and switches are kept per thread and not passed on. Their reading grows with the threads, so it is done
 * once a second, or so seldom that it takes a quarter of the budget, of all processes together. */
static void read_threads(struct sampler *s, struct member *m)
{
    struct thread_sums sums = {.s = s, .pid = m->row.key.pid};
    uint64_t begin = 0;
    if (!process_threads_free(s))
        return;
    clock_process_cpu_ns(0, &begin);
    proc_each_task(s->options.proc_fd, m->row.key.pid, add_thread, &sums);
    put_threads(m, &sums);
    uint64_t pause = process_threads_took(s, begin);
    m->note.switches_due = s->now_ns + (pause > NS_PER_SEC ? pause : NS_PER_SEC);
}

/* The only thread's switches come with status. */
static void read_thread(struct sampler *s, struct member *m)
{
    struct thread_sums sums = {0};
    struct pid_schedstat ss;
    ssize_t len = cache_read(s, m, CACHE_SCHEDSTAT, "schedstat", 256);
    if (len > 0 && pid_schedstat_parse(span_of(s->text, (size_t)len), &ss) == 0) {
        sums.delay = ss.delay_ns;
        sums.has_delay = true;
    }
    put_threads(m, &sums);
}

/* Is a read that is left out from that level on to be done now? */
static bool allowed(struct sampler *s, struct member *m, enum budget_level from, bool now_due)
{
    bool is_allowed = s->budget.level < from || now_due;
    s->thinned += !is_allowed;
    m->owes |= !is_allowed;
    return is_allowed;
}

static void read_delays(struct sampler *s, struct member *m, bool now_due)
{
    if (m->row.value[PROCESS_threads] > 1) {
        if (now_due)
            read_threads(s, m);
        return;
    }
    if ((s->need & BARO_SOURCE_SCHEDSTAT) && allowed(s, m, BUDGET_SPARSE, now_due))
        read_thread(s, m);
    if (now_due)
        m->note.switches_due = s->now_ns + (s->budget.level < BUDGET_SPARSE ? SWITCHES_EVERY : NS_PER_SEC);
}

static void read_fds(struct sampler *s, struct member *m)
{
    int64_t fds = cache_count_fds(s, m);
    bool hollow = m->row.value[PROCESS_state] == 'Z' && m->row.value[PROCESS_threads] > 1;
    if (hollow && fds == 0) /* the dead leader's table is gone; its threads have one still */
        unset(m, PROCESS_fds, BARO_ABSENT_GONE);
    else if (fds >= 0)
        set(m, PROCESS_fds, (uint64_t)fds);
    else
        unset(m, PROCESS_fds, proc_absent((int)-fds));
}

/* ---- the whole ---- */

int process_clock(struct sampler *s, struct member *m, uint64_t *ret_ns)
{
    (void)s;
    *ret_ns = 0;
    int r = clock_process_cpu_ns(m->row.key.pid, ret_ns);
    return r == -EINVAL ? -ESRCH : 0;
}

/* Is what the pid names now still this member? A member known from events alone has no start time yet; it gets the one
 * that is read, unless that lies after its end. */
static bool same(const struct sampler *s, struct member *m, const struct pid_stat *st)
{
    if (m->looked_at)
        return m->row.key.start == st->starttime;
    uint64_t begin_ns = job_begin_ns(s->job, st->starttime);
    if (m->ended && begin_ns > m->end_ns)
        return false;
    m->row.key.start = st->starttime;
    m->looked_at = true;
    if (!m->begin_ns)
        m->begin_ns = begin_ns;
    return true;
}

/* Of a storm of short processes most are seen once, if at all. The first look at one that has just begun takes what
 * tells of its size; what it has read and written its parent takes over. */
static bool young(const struct sampler *s, const struct member *m)
{
    return m->begin_ns && s->now_ns < m->begin_ns + YOUNG_NS && !m->sampled && !m->target;
}

/* Most die young: what their end tells is not worth the reading before. */
static bool young_and_told(const struct sampler *s, const struct member *m)
{
    return s->job->ends_told && !s->job->closing && m->parent && m->begin_ns &&
           s->now_ns < m->begin_ns + YOUNG_TOLD_NS && !m->target;
}

/* Of memory that is shared a page that is written to becomes one's own: faults tell, rss does not. */
static void note_growth(struct sampler *s, const struct member *m, uint64_t key, uint64_t stat_rss)
{
    uint64_t now = m->note.stat_rss, moved = process_memory_key(m) - now - (key - stat_rss);
    if (!m->sampled || process_memory_key(m) == key)
        return;
    uint64_t faults = moved < now / s->options.page_size ? moved * s->options.page_size : now;
    uint64_t rss = now > stat_rss ? now - stat_rss : stat_rss - now;
    memory_moved_by(s, m, rss > faults ? rss : faults);
}

int process_read(struct sampler *s, struct member *m, uint64_t clock_ns, enum process_depth depth)
{
    struct pid_stat st;
    ssize_t n = cache_read(s, m, CACHE_STAT, "stat", 2048);
    if (n <= 0 && n != -ESRCH && n != -ENOENT && n != 0)
        return (int)n;
    if (n <= 0 || pid_stat_parse(span_of(s->text, (size_t)n), &st) != 0)
        return n > 0 ? BARO_E_SYNTAX : -ESRCH;
    if (!same(s, m, &st))
        return -ESRCH;
    uint64_t key = process_memory_key(m), stat_rss = m->note.stat_rss;
    put_stat(s, m, &st, clock_ns);
    note_growth(s, m, key, stat_rss);
    m->note.clock_ns = clock_ns;
    m->force = false;
    if (depth == PROCESS_LEDGER && (s->need & BARO_SOURCE_IO))
        read_io(s, m);
    if (depth < PROCESS_REFRESH)
        return 0;
    bool now_due = depth == PROCESS_WHOLE && due(s, m);
    m->owes &= !now_due;
    if ((s->need & (BARO_SOURCE_STATUS | BARO_SOURCE_TASKS)) && status_worth_it(s, m, now_due))
        read_status(s, m);
    if (depth == PROCESS_REFRESH)
        return 0;
    if (young(s, m)) {
        member_wake(m); /* the rest of it with the next tick, though it may not run until then */
        return 0;
    }
    if ((s->need & BARO_SOURCE_FD) && allowed(s, m, BUDGET_SPARSE, now_due))
        read_fds(s, m);
    if (young_and_told(s, m)) {
        member_wake(m);
        return 0;
    }
    if ((s->need & BARO_SOURCE_IO) && allowed(s, m, BUDGET_STAT, now_due))
        read_io(s, m);
    if (s->need & (BARO_SOURCE_SCHEDSTAT | BARO_SOURCE_TASKS))
        read_delays(s, m, now_due);
    return 0;
}

void sampler_take_zombie(struct sampler *s, struct member *m, const struct sampler_zombie *z)
{
    struct pid_stat st;
    if (z->stat.len && pid_stat_parse(z->stat, &st) == 0 && same(s, m, &st)) {
        struct baro_process *row = &m->row;
        uint64_t rss = row->value[PROCESS_rss], virtual = row->value[PROCESS_virtual];
        put_stat(s, m, &st, z->cpu_ns);
        row->value[PROCESS_rss] = rss;
        row->value[PROCESS_virtual] = virtual;
    }
    member_moved(m);
    for (size_t i = 0; i < IO_METRICS; i++) {
        if (z->io.valid & 1u << io_metrics[i].field)
            set_counter(m, io_metrics[i].metric, z->io.value[io_metrics[i].field]);
    }
    m->io_final |= z->io_known;
    m->reaped_io.known = z->stat.len && z->io_known && z->own_io_known && put_reaped_io(m, &z->io, &z->own_io);
}
