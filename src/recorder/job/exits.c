/* SPDX-License-Identifier: Apache-2.0 */
/* Makes the exit record of a process from the values that were read last and from what was reported when it ended. */

#include "base/clock.h"
#include "recorder/job/counters.h"
#include "recorder/job/task.h"

#define LIMIT_REACHED 1.05 /* the CPU time by ticks is an estimate after the last reading */

static void put(struct baro_exit *e, enum exit_metric id, uint64_t v)
{
    e->value[id] = v;
    e->absent[id] = BARO_PRESENT;
}

static void copy(struct baro_exit *e, enum exit_metric to, const struct member *m, enum process_metric from)
{
    e->absent[to] = m->row.absent[from];
    e->value[to] = m->row.value[from];
}

/* Sets a value that is a lower bound to the larger one of two such bounds. */
static void raise_value(struct baro_exit *e, enum exit_metric id, uint64_t v)
{
    put(e, id, e->absent[id] == BARO_PRESENT ? max_u64(e->value[id], v) : v);
}

static void fill_values_read_last(struct baro_exit *e, const struct member *m)
{
    copy(e, EXIT_cpu, m, PROCESS_cpu);
    copy(e, EXIT_cpu_user, m, PROCESS_cpu_user);
    copy(e, EXIT_cpu_system, m, PROCESS_cpu_system);
    copy(e, EXIT_rss_peak, m, PROCESS_rss_peak);
    copy(e, EXIT_run_delay, m, PROCESS_run_delay);
    copy(e, EXIT_io_read, m, PROCESS_io_read);
    copy(e, EXIT_io_write, m, PROCESS_io_write);
    copy(e, EXIT_io_rchar, m, PROCESS_io_rchar);
    copy(e, EXIT_io_wchar, m, PROCESS_io_wchar);
    copy(e, EXIT_faults_minor, m, PROCESS_faults_minor);
    copy(e, EXIT_faults_major, m, PROCESS_faults_major);
    copy(e, EXIT_task, m, PROCESS_task);
    copy(e, EXIT_tcp_sent, m, PROCESS_tcp_sent);
    copy(e, EXIT_tcp_received, m, PROCESS_tcp_received);
    e->absent[EXIT_children_cpu] = m->row.absent[PROCESS_children_cpu_user];
    e->value[EXIT_children_cpu] = value(m, PROCESS_children_cpu_user) + value(m, PROCESS_children_cpu_system);
    for (int i = 0; i < EXIT_MAX; i++) {
        if (e->absent[i] == BARO_ABSENT_NOT_YET)
            e->absent[i] = BARO_ABSENT_GONE;
    }
}

static void clear_split(struct baro_exit *e)
{
    static const enum exit_metric ids[] = {EXIT_cpu_user, EXIT_cpu_system};
    for (size_t i = 0; i < sizeof(ids) / sizeof(*ids); i++) {
        e->value[ids[i]] = 0;
        e->absent[ids[i]] = e->absent[ids[i]] ? e->absent[ids[i]] : (uint8_t)BARO_ABSENT_UNKNOWN;
    }
}

static void fill_reported_values(struct baro_exit *e, const struct member *m)
{
    const struct member_usage *u = member_usage(m);
    if (u->has_cpu && (e->absent[EXIT_cpu] || reported_cpu(m))) {
        uint64_t split = e->value[EXIT_cpu_user] + e->value[EXIT_cpu_system];
        uint64_t user = u->has_split ? u->user_ns : e->value[EXIT_cpu_user];
        split = u->has_split ? u->user_ns + u->system_ns : split;
        put(e, EXIT_cpu, u->cpu_ns);
        if (split) {
            /* job_totals() has published the parts that were read last, and neither part may become smaller. */
            uint64_t user_ns = share_u64(u->cpu_ns, user, split);
            uint64_t least = value(m, PROCESS_cpu_user), most = least + reported_cpu(m);
            user_ns = user_ns < least ? least : user_ns > most ? most : user_ns;
            put(e, EXIT_cpu_user, user_ns);
            put(e, EXIT_cpu_system, u->cpu_ns - user_ns);
        } else { /* it had used nothing when it was last read */
            clear_split(e);
        }
    }
    if (u->has_memory)
        raise_value(e, EXIT_rss_peak, u->rss_peak);
    if (u->has_delay)
        raise_value(e, EXIT_run_delay, u->run_delay_ns);
    if (u->has_io) {
        raise_value(e, EXIT_io_read, u->io_read);
        raise_value(e, EXIT_io_write, u->io_write);
        raise_value(e, EXIT_io_rchar, u->io_rchar);
        raise_value(e, EXIT_io_wchar, u->io_wchar);
        raise_value(e, EXIT_faults_minor, u->faults_minor);
        raise_value(e, EXIT_faults_major, u->faults_major);
    }
}

static const struct {
    enum exit_metric metric;
    unsigned base;
} bases[] = {
    {EXIT_cpu, BASE_CPU},
    {EXIT_cpu_user, BASE_CPU_USER},
    {EXIT_cpu_system, BASE_CPU_SYSTEM},
    {EXIT_children_cpu, BASE_CHILDREN_CPU},
    {EXIT_faults_minor, BASE_FAULTS_MINOR},
    {EXIT_faults_major, BASE_FAULTS_MAJOR},
    {EXIT_run_delay, BASE_RUN_DELAY},
    {EXIT_io_read, LEDGER_IO_READ},
    {EXIT_io_write, LEDGER_IO_WRITE},
    {EXIT_io_rchar, LEDGER_IO_RCHAR},
    {EXIT_io_wchar, LEDGER_IO_WCHAR},
};
#define BASES (sizeof(bases) / sizeof(*bases))

static void split_cpu(struct baro_exit *e)
{
    if (e->absent[EXIT_cpu_user] || e->absent[EXIT_cpu])
        return;
    if (e->value[EXIT_cpu_user] > e->value[EXIT_cpu])
        e->value[EXIT_cpu_user] = e->value[EXIT_cpu];
    e->value[EXIT_cpu_system] = e->value[EXIT_cpu] - e->value[EXIT_cpu_user];
}

/* Subtracts what the process had used before the recording began. */
static void subtract_base(struct baro_exit *e, const struct member *m)
{
    if (!m->account.base)
        return;
    for (size_t i = 0; i < BASES; i++) {
        uint64_t *v = &e->value[bases[i].metric];
        *v = since_base(m, bases[i].base, *v);
    }
    split_cpu(e);
}

static void fill_own_io(const struct job *j, const struct member *m, struct baro_exit *e)
{
    static const struct {
        enum exit_metric own, all;
        enum ledger_counter counter;
    } of[] = {{EXIT_own_io_read, EXIT_io_read, LEDGER_IO_READ}, {EXIT_own_io_write, EXIT_io_write, LEDGER_IO_WRITE}};
    bool known = false, whole = true;
    for (size_t i = 0; i < sizeof(of) / sizeof(*of); i++) {
        uint64_t own;
        bool has_all, has_own = closure_own(j, m, of[i].counter, &own, &has_all);
        e->absent[of[i].own] = has_own ? (uint8_t)BARO_PRESENT : BARO_ABSENT_UNKNOWN;
        e->absent[of[i].own] = e->absent[of[i].all] ? e->absent[of[i].all] : e->absent[of[i].own];
        e->value[of[i].own] = e->absent[of[i].own] ? 0 : own;
        known |= !e->absent[of[i].own];
        whole &= has_all;
    }
    e->absent[EXIT_own_io_is_lower_bound] = known ? (uint8_t)BARO_PRESENT : e->absent[EXIT_own_io_read];
    e->value[EXIT_own_io_is_lower_bound] = known && !whole;
}

static void fill_tcp(const struct job *j, const struct member *m, struct baro_exit *e)
{
    if (!j->settling.sockets && e->absent[EXIT_tcp_sent]) /* a process that was never read has another reason */
        e->absent[EXIT_tcp_sent] = e->absent[EXIT_tcp_received] = BARO_ABSENT_NOT_ASKED;
    if (e->absent[EXIT_tcp_sent])
        e->absent[EXIT_tcp_is_lower_bound] = e->absent[EXIT_tcp_sent];
    else
        put(e, EXIT_tcp_is_lower_bound, tcp_is_bound(m));
}

/* The stat of a zombie has the last values of all these counters; taskstats reports only the page faults of the process
 * itself. */
static void fill_bounds(const struct job *j, const struct member *m, struct baro_exit *e)
{
    static const struct {
        enum exit_metric flag, of;
    } flags[] = {{EXIT_faults_is_lower_bound, EXIT_faults_minor},
                 {EXIT_children_cpu_is_lower_bound, EXIT_children_cpu}};
    const bool whole[] = {member_is_zombie(m) || member_usage(m)->has_io, member_is_zombie(m) || is_childless(j, m)};
    for (size_t i = 0; i < sizeof(flags) / sizeof(*flags); i++) {
        e->absent[flags[i].flag] = e->absent[flags[i].of];
        e->value[flags[i].flag] = !e->absent[flags[i].of] && !whole[i];
    }
}

/* Only taskstats and wait4(2) report the VmHWM that the process ended with. That of a program that it executed does not
 * include what the program before had. */
static void fill_mark(const struct member *m, struct baro_exit *e)
{
    if (e->absent[EXIT_rss_peak])
        e->absent[EXIT_rss_peak_is_lower_bound] = e->absent[EXIT_rss_peak];
    else
        put(e, EXIT_rss_peak_is_lower_bound,
            !member_usage(m)->has_memory || m->events.program_rss > e->value[EXIT_rss_peak]);
}

static void fill_unsure(const struct member *m, struct baro_exit *e)
{
    uint64_t unsure = own_unsure(m) + member_usage(m)->share_unsure_ns;
    e->absent[EXIT_cpu_unsure] = e->absent[EXIT_cpu];
    e->value[EXIT_cpu_unsure] = e->absent[EXIT_cpu] ? 0 : unsure < e->value[EXIT_cpu] ? unsure : e->value[EXIT_cpu];
}

static void fill_limit(const struct member *m, struct baro_exit *e)
{
    double ratio = m->reading.ticks_ratio > 0 ? m->reading.ticks_ratio : 1;
    double used = LIMIT_REACHED * (double)e->value[EXIT_cpu] * ratio;
    uint64_t limit = m->reading.cpu_limit_ns;
    e->absent[EXIT_cpu_limit_reached] = e->absent[EXIT_cpu];
    if (!e->absent[EXIT_cpu] && !m->reading.limit_at_ns && used >= (double)NS_PER_SEC)
        e->absent[EXIT_cpu_limit_reached] = BARO_ABSENT_GONE;
    else if (!e->absent[EXIT_cpu])
        put(e, EXIT_cpu_limit_reached, limit && used >= (double)limit ? limit : 0);
}

static void fill_exit(const struct job *j, const struct member *m, struct baro_exit *e)
{
    *e = (struct baro_exit){
        .t_ns = m->life.end_ns,
        .id = m->row.id,
        .key = m->row.key,
        .parent = m->row.parent,
        .uid = m->row.uid,
        .origin = m->row.origin,
        .sampled = m->reading.in_sample,
        .status_known = m->life.status_known,
        .status = m->life.status,
        .name = m->reading.name_is_parents && !m->events.named ? "" : m->row.name,
        .cmdline = m->row.cmdline,
    };
    e->source = m->life.end_reported ? BARO_EXIT_EVENT : BARO_EXIT_LAST_SAMPLE;
    if (member_usage(m)->source)
        e->source = member_usage(m)->source;
    fill_values_read_last(e, m);
    fill_reported_values(e, m);
    fill_limit(m, e);
    subtract_base(e, m);
    if (e->absent[EXIT_io_rchar])
        e->absent[EXIT_io_is_lower_bound] = e->absent[EXIT_io_rchar];
    else
        put(e, EXIT_io_is_lower_bound, !io_is_whole(j, m));
    fill_mark(m, e);
    fill_bounds(j, m, e);
    fill_own_io(j, m, e);
    fill_tcp(j, m, e);
    fill_unsure(m, e);
    if (m->life.begin_ns && m->life.end_ns >= m->life.begin_ns)
        put(e, EXIT_elapsed, m->life.end_ns - m->life.begin_ns);
    else
        e->absent[EXIT_elapsed] = BARO_ABSENT_UNKNOWN;
}

/* Returns the last exit reported for a pid, if it is among the last JOB_REPORTED. */
static const struct job_reported *last_reported(const struct job *j, int32_t pid)
{
    uint64_t n = j->reports.of[(uint32_t)pid % JOB_REPORTED];
    while (n && n + JOB_REPORTED > j->reports.n) {
        const struct job_reported *r = &j->reports.at[(n - 1) % JOB_REPORTED];
        if (r->key.pid == pid)
            return r;
        n = r->before;
    }
    return NULL;
}

static void note_reported(struct job *j, const struct member *m)
{
    uint64_t *last = &j->reports.of[(uint32_t)m->row.key.pid % JOB_REPORTED];
    uint64_t end_ns = m->life.end_reported || m->life.gone_ns < m->life.end_ns ? m->life.end_ns : m->life.gone_ns;
    j->reports.at[j->reports.n++ % JOB_REPORTED] = (struct job_reported){m->row.key, end_ns, *last};
    *last = j->reports.n;
}

/* Was the exit of this process reported before? A process whose exit was reported can be found again, for example by a
 * late event; it counts once. It is another process if it was forked after that end. Example: pid 200 ended at 966 us
 * and was used again at 1,020 us; both processes started within the same clock tick of 10 ms, so their keys are equal.
 */
static bool was_reported(struct job *j, const struct member *m)
{
    const struct job_reported *last = last_reported(j, m->row.key.pid);
    bool same = last && m->row.key.start && baro_key_equal(last->key, m->row.key) && m->life.begin_ns <= last->end_ns;
    note_reported(j, m);
    return same;
}

bool job_was_reported(const struct job *j, int32_t pid, uint64_t t_ns)
{
    const struct job_reported *last = last_reported(j, pid);
    return last && last->end_ns >= t_ns;
}

/* Takes what the kernel adds to no other process, and peaks. */
static void take_kept(struct job *j, const struct member *m, const struct baro_exit *e)
{
    j->shortfall.rss_peak |= e->absent[EXIT_rss_peak] || e->value[EXIT_rss_peak_is_lower_bound];
    if (!e->absent[EXIT_rss_peak])
        j->rss_peak = max_u64(j->rss_peak, e->value[EXIT_rss_peak]);
    if (!e->absent[EXIT_run_delay]) {
        j->past.run_delay += e->value[EXIT_run_delay];
        j->past.delay_cpu += member_usage(m)->has_delay ? e->value[EXIT_cpu] : delay_cpu_of(m);
        j->seen.known |= UINT64_C(1) << JOB_run_delay;
    }
    j->past.switches[0] += since_base(m, BASE_SWITCHES_VOLUNTARY, value(m, PROCESS_switches_voluntary));
    j->past.switches[1] += since_base(m, BASE_SWITCHES_INVOLUNTARY, value(m, PROCESS_switches_involuntary));
    j->counts.unsampled += !m->reading.in_sample;
}

/* Returns whether the member is kept: its exit is reported later. */
static bool report_exit(struct job *j, struct member *m, uint64_t now_ns)
{
    struct baro_exit e;
    /* its parent had left the group that is the job, so it was never in the group */
    bool never_came = m->of_task.left && m->group.missing && !m->group.listed;
    if (never_came || (!m->of_task.left && was_reported(j, m))) {
        j->counts.started--;
        if (m->other.is)
            others_forget(j, m);
        return false;
    }
    bool is_other = m->other.is;
    fill_exit(j, m, &e);
    task_exit(j, m, &e);
    if (!m->of_task.left)
        claim_note(j, m, now_ns);
    if (j->source.covers_members && !m->events.covered)
        job_lose(j);
    j->counts.ended++;
    j->group.ended_ns = max_u64(j->group.ended_ns, m->life.end_ns);
    if (!e.absent[EXIT_cpu])
        j->past.counted_ns += e.value[EXIT_cpu];
    j->past.split[0] += e.absent[EXIT_cpu_user] ? 0 : e.value[EXIT_cpu_user];
    j->past.split[1] += e.absent[EXIT_cpu_system] ? 0 : e.value[EXIT_cpu_system];
    j->past.unsure_ns += e.absent[EXIT_cpu] ? 0 : own_unsure(m);
    j->past.reported_ns += own_unsure(m) && value(m, PROCESS_faults_minor) ? reported_cpu(m) : 0;
    closure_note(j, m, &e);
    totals_know(j, m);
    if (is_other)
        others_exit(j, m, &e);
    else
        take_kept(j, m, &e);
    if (m->of_task.left || is_other) /* it is alive, or none of the job's */
        return false;
    if (late_hold(j, m, &e, now_ns))
        return true;
    j->sink.exit(j->sink.context, &e);
    return false;
}

/* Takes the first n members of the list and sorts them by the time of their end (a stable merge sort). */
static struct member *take_sorted(struct member **list, size_t n)
{
    struct member *first = *list, **last = &first;
    if (n < 2) {
        *list = first ? first->links.list_next : NULL;
        *(first ? &first->links.list_next : list) = NULL;
        return first;
    }
    struct member *a = take_sorted(list, n / 2), *b = take_sorted(list, n - n / 2);
    while (a && b) {
        struct member **next = b->life.end_ns < a->life.end_ns ? &b : &a;
        *last = *next;
        last = &(*next)->links.list_next;
        *next = *last;
    }
    *last = a ? a : b;
    return first;
}

/* Reports exits in the order of the ends, not in the order in which they were noticed. Example: a parent's list of
 * children begins with the newest, so if several have ended, the newest is noticed first. */
void exits_report(struct job *j, uint64_t now_ns)
{
    size_t n = 0;
    struct member *list = NULL;
    for (; j->settling.gone; n++) {
        struct member *m = j->settling.gone;
        j->settling.gone = m->links.list_next;
        m->links.list_next = list;
        list = m;
        m->life.end_ns = m->life.end_ns ? m->life.end_ns : now_ns;
    }
    j->settling.n_gone = 0;
    j->settling.gone_unforked = false;
    j->tree.epoch++;
    for (struct member *next, *m = take_sorted(&list, n); m; m = next) {
        next = m->links.list_next;
        peak_end_awaited(j, m, false);
        if (!report_exit(j, m, now_ns))
            tree_release(&j->tree, m);
    }
}
