/* SPDX-License-Identifier: Apache-2.0 */
/* Makes the exit record of a process from the values that were read last and from what was reported when it ended. */

#include <stdlib.h>

#include "base/array.h"
#include "base/clock.h"
#include "recorder/job/counters.h"
#include "recorder/job/task.h"

#define LIMIT_REACHED 1.05 /* the CPU time by ticks is an estimate after the last reading */

#define NONE BASE_MAX

/* The values of a record, the metric that has them of a process, and the counter that a base is subtracted from. */
static const struct {
    enum exit_metric exit;
    enum process_metric process;
    unsigned base;
} values[] = {
    {EXIT_cpu, PROCESS_cpu, BASE_CPU},
    {EXIT_cpu_user, PROCESS_cpu_user, BASE_CPU_USER},
    {EXIT_cpu_system, PROCESS_cpu_system, BASE_CPU_SYSTEM},
    {EXIT_children_cpu, PROCESS_children_cpu_user, BASE_CHILDREN_CPU}, /* and PROCESS_children_cpu_system */
    {EXIT_rss_peak, PROCESS_rss_peak, NONE},
    {EXIT_run_delay, PROCESS_run_delay, BASE_RUN_DELAY},
    {EXIT_io_read, PROCESS_io_read, LEDGER_IO_READ},
    {EXIT_io_write, PROCESS_io_write, LEDGER_IO_WRITE},
    {EXIT_io_rchar, PROCESS_io_rchar, LEDGER_IO_RCHAR},
    {EXIT_io_wchar, PROCESS_io_wchar, LEDGER_IO_WCHAR},
    {EXIT_faults_minor, PROCESS_faults_minor, BASE_FAULTS_MINOR},
    {EXIT_faults_major, PROCESS_faults_major, BASE_FAULTS_MAJOR},
    {EXIT_task, PROCESS_task, NONE},
    {EXIT_cgroup, PROCESS_cgroup, NONE},
    {EXIT_tcp_sent, PROCESS_tcp_sent, NONE},
    {EXIT_tcp_received, PROCESS_tcp_received, NONE},
};
#define VALUES (sizeof(values) / sizeof(*values))

static void put(struct baro_exit *e, enum exit_metric id, uint64_t v)
{
    e->value[id] = v;
    e->absent[id] = BARO_PRESENT;
}

/* Sets a value that is a lower bound to the larger one of two such bounds. */
static void raise_value(struct baro_exit *e, enum exit_metric id, uint64_t v)
{
    put(e, id, e->absent[id] == BARO_PRESENT ? max_u64(e->value[id], v) : v);
}

/* Puts a flag that says something of a value; it is absent if the value is. */
static void put_flag(struct baro_exit *e, enum exit_metric flag, enum exit_metric of, bool is)
{
    e->absent[flag] = e->absent[of];
    e->value[flag] = !e->absent[of] && is;
}

static void fill_values_read_last(struct baro_exit *e, const struct member *m)
{
    for (size_t i = 0; i < VALUES; i++) {
        uint8_t absent = m->row.absent[values[i].process];
        e->value[values[i].exit] = value(m, values[i].process);
        e->absent[values[i].exit] = absent == BARO_ABSENT_NOT_YET ? (uint8_t)BARO_ABSENT_GONE : absent;
    }
    e->value[EXIT_children_cpu] += value(m, PROCESS_children_cpu_system);
}

/* Takes the CPU time that was reported, if it is more. job_totals() has published the parts that were read last, and
 * neither part may become smaller. If the process had used nothing when it was last read, the split is not known. */
static void fill_reported_cpu(struct baro_exit *e, const struct member *m)
{
    const struct member_usage *u = member_usage(m);
    uint64_t user = u->has_split ? u->user_ns : e->value[EXIT_cpu_user];
    uint64_t split = u->has_split ? u->user_ns + u->system_ns : user + e->value[EXIT_cpu_system];
    if (!u->has_cpu || !(e->absent[EXIT_cpu] || reported_cpu(m)))
        return;
    put(e, EXIT_cpu, u->cpu_ns);
    if (split) {
        uint64_t least = value(m, PROCESS_cpu_user), most = least + reported_cpu(m);
        user = min_u64(max_u64(share_u64(u->cpu_ns, user, split), least), most);
        put(e, EXIT_cpu_user, user);
        put(e, EXIT_cpu_system, u->cpu_ns - user);
        return;
    }
    for (int id = EXIT_cpu_user; id <= EXIT_cpu_system; id++) {
        e->value[id] = 0;
        e->absent[id] = e->absent[id] ? e->absent[id] : (uint8_t)BARO_ABSENT_UNKNOWN;
    }
}

static void fill_reported_values(struct baro_exit *e, const struct member *m)
{
    static const struct {
        enum exit_metric exit;
        enum ledger_counter counter;
    } of[] = {{EXIT_io_read, LEDGER_IO_READ},           {EXIT_io_write, LEDGER_IO_WRITE},
              {EXIT_io_rchar, LEDGER_IO_RCHAR},         {EXIT_io_wchar, LEDGER_IO_WCHAR},
              {EXIT_faults_minor, LEDGER_FAULTS_MINOR}, {EXIT_faults_major, LEDGER_FAULTS_MAJOR}};
    const struct member_usage *u = member_usage(m);
    fill_reported_cpu(e, m);
    if (u->has_memory)
        raise_value(e, EXIT_rss_peak, u->rss_peak);
    if (u->has_delay)
        raise_value(e, EXIT_run_delay, u->run_delay_ns);
    for (size_t i = 0; u->has_io && i < sizeof(of) / sizeof(*of); i++)
        raise_value(e, of[i].exit, u->own[of[i].counter]);
}

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
    for (size_t i = 0; m->account.base && i < VALUES; i++) {
        if (values[i].base != NONE)
            e->value[values[i].exit] = since_base(m, values[i].base, e->value[values[i].exit]);
    }
    split_cpu(e);
}

static void fill_own_io(const struct job *j, const struct member *m, struct baro_exit *e)
{
    static const struct {
        enum exit_metric own, all;
        enum ledger_counter counter;
    } of[] = {{EXIT_own_io_read, EXIT_io_read, LEDGER_IO_READ},
              {EXIT_own_io_write, EXIT_io_write, LEDGER_IO_WRITE},
              {EXIT_own_io_rchar, EXIT_io_rchar, LEDGER_IO_RCHAR},
              {EXIT_own_io_wchar, EXIT_io_wchar, LEDGER_IO_WCHAR}};
    bool known = false, whole = true;
    for (size_t i = 0; i < sizeof(of) / sizeof(*of); i++) {
        uint64_t own;
        bool has_all, has_own = own_io(j, m, of[i].counter, &own, &has_all);
        e->absent[of[i].own] = has_own ? (uint8_t)BARO_PRESENT : BARO_ABSENT_UNKNOWN;
        e->absent[of[i].own] = e->absent[of[i].all] ? e->absent[of[i].all] : e->absent[of[i].own];
        e->value[of[i].own] = e->absent[of[i].own] ? 0 : own;
        known |= !e->absent[of[i].own];
        whole &= has_all;
    }
    e->absent[EXIT_own_io_is_lower_bound] = known ? (uint8_t)BARO_PRESENT : e->absent[EXIT_own_io_read];
    e->value[EXIT_own_io_is_lower_bound] = known && !whole;
}

/* What is known of the values. The stat of a zombie has the last values of the page faults and of the children's CPU
 * time; taskstats reports the page faults of the process itself. Only taskstats and wait4(2) report the VmHWM that it
 * ended with. That of a program that it executed does not include what the program before had. */
static void fill_flags(const struct job *j, const struct member *m, struct baro_exit *e)
{
    const struct member_usage *u = member_usage(m);
    if (!j->settling.sockets && e->absent[EXIT_tcp_sent]) /* a process that was never read has another reason */
        e->absent[EXIT_tcp_sent] = e->absent[EXIT_tcp_received] = BARO_ABSENT_NOT_ASKED;
    put_flag(e, EXIT_tcp_is_lower_bound, EXIT_tcp_sent, tcp_is_bound(m));
    put_flag(e, EXIT_io_is_lower_bound, EXIT_io_rchar, !io_is_whole(j, m));
    put_flag(e, EXIT_rss_peak_is_lower_bound, EXIT_rss_peak,
             !u->has_memory || m->events.program_rss > e->value[EXIT_rss_peak]);
    put_flag(e, EXIT_faults_is_lower_bound, EXIT_faults_minor, !member_is_zombie(m) && !u->has_io);
    put_flag(e, EXIT_children_cpu_is_lower_bound, EXIT_children_cpu, !member_is_zombie(m) && !is_childless(j, m));
    e->absent[EXIT_cpu_unsure] = e->absent[EXIT_cpu];
    e->value[EXIT_cpu_unsure] =
        e->absent[EXIT_cpu] ? 0 : min_u64(own_unsure(m) + u->share_unsure_ns, e->value[EXIT_cpu]);
}

static void fill_limit(const struct member *m, struct baro_exit *e)
{
    double ratio = m->limit.ticks_ratio > 0 ? m->limit.ticks_ratio : 1;
    double used = LIMIT_REACHED * (double)e->value[EXIT_cpu] * ratio;
    uint64_t limit = m->limit.cpu_limit_ns;
    e->absent[EXIT_cpu_limit_reached] = e->absent[EXIT_cpu];
    if (!e->absent[EXIT_cpu] && !m->limit.limit_at_ns && used >= (double)NS_PER_SEC)
        e->absent[EXIT_cpu_limit_reached] = BARO_ABSENT_GONE;
    else if (!e->absent[EXIT_cpu])
        put(e, EXIT_cpu_limit_reached, limit && used >= (double)limit ? limit : 0);
}

/* The one that it ended as a child of, which may be gone as well. */
static struct member *last_parent(const struct member *m)
{
    return m->links.parent ? m->links.parent : m->account.successor;
}

static const char *parent_name(const struct member *m)
{
    const struct member *parent = last_parent(m);
    return parent ? parent->row.name : NULL;
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
        .parent_name = parent_name(m),
    };
    e->source = m->life.end_reported ? BARO_EXIT_EVENT : BARO_EXIT_LAST_SAMPLE;
    if (member_usage(m)->source)
        e->source = member_usage(m)->source;
    fill_values_read_last(e, m);
    fill_reported_values(e, m);
    fill_limit(m, e);
    subtract_base(e, m);
    fill_flags(j, m, e);
    fill_own_io(j, m, e);
    if (m->life.begin_ns && m->life.end_ns >= m->life.begin_ns)
        put(e, EXIT_elapsed, m->life.end_ns - m->life.begin_ns);
    else
        e->absent[EXIT_elapsed] = BARO_ABSENT_UNKNOWN;
}

/* ---- exits that were reported ---- */

/* Returns the exit with this number, if it is among the last JOB_REPORTED. */
static const struct job_reported *reported_at(const struct job *j, uint64_t n)
{
    return n && n + JOB_REPORTED > j->reports.n ? &j->reports.at[(n - 1) % JOB_REPORTED] : NULL;
}

static uint64_t last_with_hash(const struct job *j, int32_t pid)
{
    return j->reports.of ? j->reports.of[(uint32_t)pid % JOB_REPORTED_HASH] : 0;
}

/* Returns the last one with this pid. */
static const struct job_reported *last_reported(const struct job *j, int32_t pid)
{
    const struct job_reported *r = reported_at(j, last_with_hash(j, pid));
    while (r && r->key.pid != pid)
        r = reported_at(j, r->before);
    return r;
}

static bool make_report_room(struct job_reports *r)
{
    struct job_reported *grown = r->n < JOB_REPORTED ? array_room(r->at, r->n, &r->cap, sizeof(*grown)) : r->at;
    r->at = grown ? grown : r->at;
    r->of = r->of ? r->of : calloc(JOB_REPORTED_HASH, sizeof(*r->of));
    return grown && r->of;
}

/* Was the exit of this process reported before? A process whose exit was reported can be found again, for example by a
 * late event; it counts once. It is another process if it was forked after that end. Example: pid 200 ended at 966 us
 * and was used again at 1,020 us; both processes started within the same clock tick of 10 ms, so their keys are equal.
 */
static bool was_reported(struct job *j, const struct member *m)
{
    const struct job_reported *last = last_reported(j, m->row.key.pid);
    uint64_t end_ns = m->life.end_reported ? m->life.end_ns : max_u64(m->life.gone_ns, m->life.end_ns);
    bool same = last && m->row.key.start && baro_key_equal(last->key, m->row.key) && m->life.begin_ns <= last->end_ns;
    if (!make_report_room(&j->reports))
        return same; /* out of memory: if it is found again, it counts twice */
    uint64_t *of = &j->reports.of[(uint32_t)m->row.key.pid % JOB_REPORTED_HASH];
    j->reports.at[j->reports.n++ % JOB_REPORTED] =
        (struct job_reported){m->row.key, m->life.begin_ns, end_ns, *of, is_unreaped(m), member_is_final(m)};
    *of = j->reports.n;
    return same;
}

bool job_was_reported(const struct job *j, int32_t pid, uint64_t t_ns)
{
    const struct job_reported *last = last_reported(j, pid);
    return last && last->end_ns >= t_ns;
}

bool job_lived_at(const struct job *j, int32_t pid, uint64_t t_ns)
{
    const struct job_reported *last = last_reported(j, pid);
    return last && last->begin_ns <= t_ns && t_ns <= last->end_ns;
}

#define SLACK (20 * NS_PER_MS) /* start times are truncated to ticks of 10 ms */

/* Do a start time in ticks and a process with this begin and end belong together? begin_ns 0: not known. */
static bool fits(const struct job *j, uint64_t start, uint64_t begin_ns, uint64_t end_ns)
{
    uint64_t began = job_begin_ns(j, start);
    return began <= end_ns + SLACK && began + SLACK >= begin_ns && (!begin_ns || began <= begin_ns + SLACK);
}

static bool is_same_process(const struct job *j, const struct member *m, uint64_t start, uint64_t t_ns)
{
    if (m->reading.stat_was_read && start)
        return m->row.key.start == start;
    uint64_t began = m->life.begin_ns ? m->life.begin_ns : m->row.first_ns;
    if (!start)
        return began <= t_ns;
    return m->life.begin_ns ? fits(j, start, began, began) : job_begin_ns(j, start) <= began;
}

/* Reports of the wrapper wait in a socket while events are read. When one is handled, its process may be a member, may
 * be gone, or may have been reported already, and its pid may belong to another process. */
struct member *job_claim(struct job *j, int32_t pid, uint64_t start, uint64_t t_ns, bool *ret_reported)
{
    *ret_reported = false;
    struct member *m = tree_find(&j->tree, pid);
    if (m && is_same_process(j, m, start, t_ns))
        return m;
    for (m = j->settling.gone; m; m = m->links.list_next) {
        if (m->row.key.pid == pid && is_same_process(j, m, start, t_ns))
            return m;
    }
    uint64_t n = last_with_hash(j, pid);
    for (const struct job_reported *r; (r = reported_at(j, n)) != NULL; n = r->before) {
        bool same = !start || (r->key.start ? r->key.start == start : fits(j, start, r->begin_ns, r->end_ns));
        if (r->key.pid != pid || r->is_claimed || !same)
            continue;
        j->reports.at[(n - 1) % JOB_REPORTED].is_claimed = *ret_reported = true;
        j->past.unreaped -= r->is_unreaped;
        break;
    }
    return NULL;
}

/* ---- reporting ---- */

/* Adds up what the processes have used themselves: a total is at least that. */
static void take_own(struct job *j, const struct member *m, const struct baro_exit *e)
{
    for (enum ledger_counter c = LEDGER_IO_READ; c <= LEDGER_IO_WCHAR; c++) {
        uint64_t own;
        bool whole;
        j->past.own[c] += own_io(j, m, c, &own, &whole) ? own : 0;
    }
    for (enum ledger_counter c = LEDGER_FAULTS_MINOR; c <= LEDGER_FAULTS_MAJOR; c++)
        j->past.own[c] += own_faults(m, c);
    bool known = m->life.cpu_final || member_usage(m)->source == BARO_EXIT_TASKSTATS;
    j->past.cpu_is_short |= !member_is_final(m) && (e->absent[EXIT_cpu] || !known);
    j->past.counted_ns += e->absent[EXIT_cpu] ? 0 : e->value[EXIT_cpu];
    j->past.unsure_ns += own_unsure(m);
    j->past.vague_ns += perf_cpu(m);
    j->past.unread_ns += value(m, PROCESS_faults_minor) ? 0 : perf_cpu(m);
    if (is_unreaped(m)) {
        j->past.unreaped++;
        j->past.unreaped_cpu_short |= !ledger_is_whole(j, m);
        j->past.unreaped_io_short |= !io_is_whole(j, m);
    }
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
    j->past.switches[0] += own_since_base(m, BASE_SWITCHES_VOLUNTARY);
    j->past.switches[1] += own_since_base(m, BASE_SWITCHES_INVOLUNTARY);
    j->counts.unsampled += !m->reading.in_sample;
}

/* Adds its I/O to what its parent has from children. Readers need that of a machine, where brief lives have no exits on
 * the tape. Example: make starts a shell for 5 ms, and that starts `ar`, which writes 22 MB: the io_write of make grows
 * by 22 MB, and nothing on the tape would say that they are those of ar. What it did before the recording is in the
 * parent's counter, too. */
static void give_io_to_parent(const struct job *j, const struct member *m, const struct baro_exit *e)
{
    static const enum exit_metric own[] = {EXIT_own_io_read, EXIT_own_io_write, EXIT_own_io_rchar, EXIT_own_io_wchar};
    struct member *parent = last_parent(m);
    if (!j->whole || !parent || parent->account.ignores_children)
        return;
    for (size_t i = 0; i < sizeof(own) / sizeof(*own); i++) {
        size_t to = PROCESS_children_io_read + i;
        uint64_t before = m->account.base ? m->account.base[LEDGER_IO_READ + i] : 0;
        uint64_t bytes = (e->absent[own[i]] ? 0 : e->value[own[i]] + before) + m->row.value[to];
        if (!bytes)
            continue;
        parent->row.value[to] += bytes;
        parent->row.absent[to] = BARO_PRESENT;
    }
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
    if (j->source.covers_members && !m->events.covered)
        job_lose(j);
    j->counts.ended++;
    j->group.ended_ns = max_u64(j->group.ended_ns, m->life.end_ns);
    take_own(j, m, &e);
    give_io_to_parent(j, m, &e);
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

/* Sorts the list by the time of their end (a stable merge sort: a tick allocates nothing). */
static struct member *sort_by_end(struct member *list, size_t n)
{
    if (n < 2)
        return list;
    struct member *b = list, *last = NULL, *first = NULL;
    for (size_t i = 0; i < n / 2; i++) {
        last = b;
        b = b->links.list_next;
    }
    last->links.list_next = NULL;
    struct member *a = sort_by_end(list, n / 2), **at = &first;
    b = sort_by_end(b, n - n / 2);
    while (a && b) {
        struct member **next = b->life.end_ns < a->life.end_ns ? &b : &a;
        *at = *next;
        at = &(*next)->links.list_next;
        *next = *at;
    }
    *at = a ? a : b;
    return first;
}

/* Reports exits in the order of the ends, not in the order in which they were noticed. Example: a parent's list of
 * children begins with the newest, so if several have ended, the newest is noticed first. */
void exits_report(struct job *j, uint64_t now_ns)
{
    struct member *list = NULL;
    size_t n = 0;
    for (; j->settling.gone; n++) { /* in the order in which they were noticed */
        struct member *m = j->settling.gone;
        j->settling.gone = m->links.list_next;
        m->links.list_next = list;
        list = m;
        m->life.end_ns = m->life.end_ns ? m->life.end_ns : now_ns;
    }
    list = sort_by_end(list, n);
    j->settling.n_gone = 0;
    j->settling.gone_unforked = false;
    j->tree.epoch++;
    while (list) {
        struct member *m = list;
        list = m->links.list_next;
        peak_end_awaited(j, m, false);
        if (!report_exit(j, m, now_ns))
            tree_release(&j->tree, m);
    }
}
