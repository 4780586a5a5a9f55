/* SPDX-License-Identifier: Apache-2.0 */
#include "recorder/collectors/sockets/socket_row.h"

#include "recorder/job/member_values.h"

#define PERIOD_LEAST (100 * NS_PER_MS)
#define PERIOD_MOST (20 * NS_PER_SEC)
#define REPORTS_MOST 256u          /* more than a socket holds, and a worker that is damaged may send on */
#define LAST_MOST (50 * NS_PER_MS) /* how long the last reading is waited for */

void socket_row_init(struct socket_row *r, struct sampling *sampling)
{
    *r = (struct socket_row){.sampling = sampling};
}

/* Early, so that the ends of all sockets are reported. */
static void prepare_sockets(void *state)
{
    struct socket_row *r = state;
    const struct sampler_options *o = &r->sampling->options;
    struct sockets_options options = {.proc_fd = o->proc_fd, .attached = !o->self[1]};
    if (!(r->sampling->need & BARO_SOURCE_SOCK_DIAG) || !o->helper || r->sockets)
        return;
    if (o->namespaces) {
        options.before = *o->namespaces;
        *o->namespaces = (struct namespaces){0};
    }
    if (sockets_new(&r->sockets, &options, NULL) < 0)
        return;
    sockets_turn(r->sockets);
    r->sampling->job->settling.sockets = true;
}

/* ---- a reading ---- */

/* Half of the budget is for readings. */
static uint64_t period(const struct socket_row *r)
{
    uint64_t ppm = r->sampling->options.overhead_ppm;
    uint64_t ns = ppm ? r->totals.cpu_ns * 2000 / ppm * 1000 : 0;
    return ns < PERIOD_LEAST ? PERIOD_LEAST : ns < PERIOD_MOST ? ns : PERIOD_MOST;
}

static uint64_t member_value(const struct member *m, int id)
{
    return m->row.absent[id] ? 0 : m->row.value[id];
}

/* Those of its children that a reading can't be asked of yet. A fork counts from the reading on that is asked of the
 * child as well, or that comes after the child's end. Example: a process that listens forks a server, which is not read
 * before reading 2. If the fork counted then, reading 3, after the server's end, would find that the listening process
 * had held its socket alone since reading 2, and the server's connections would count for it. */
static uint64_t children_not_asked(const struct member *m)
{
    uint64_t n = 0;
    for (const struct member *c = m->links.first_child; c; c = c->links.sibling_next)
        n += c->row.key.start == 0;
    return n;
}

/* Without events the faults of reaped children tell whether it had one that was not seen: each has at least one. */
static struct owner_asked asked_of(const struct job *j, const struct member *m)
{
    bool is_blind = !j->source.events || j->source.lossy;
    return (struct owner_asked){.key = m->row.key,
                                .sent = member_value(m, PROCESS_tcp_sent),
                                .received = member_value(m, PROCESS_tcp_received),
                                .parent = m->row.parent,
                                .forks = m->reaped_io.forks - children_not_asked(m) +
                                         (is_blind ? member_value(m, PROCESS_children_faults_minor) : 0),
                                .is_blind = is_blind};
}

/* Forks until then are known. Children were listed in this tick; events may not be read in each. */
static uint64_t known_ns(const struct socket_row *r)
{
    const struct job *j = r->sampling->job;
    if (j->settling.closing && tree_count(&j->tree) == j->counts.ended_members)
        return UINT64_MAX; /* nobody is left who could fork */
    if (j->source.events)
        return j->source.events_ns ? *j->source.events_ns : 0;
    return j->settling.closing ? 0 : r->sampling->now_ns + r->sampling->options.start_monotonic_ns;
}

/* Those that have ended and whose exit is not reported yet are among them: their sockets may end later. */
static void ask(struct socket_row *r)
{
    const struct job *j = r->sampling->job;
    const struct tree *tree = &j->tree;
    struct owner_asked *asked = sockets_ask_begin(r->sockets);
    size_t n = 0;
    for (size_t i = 0; i < tree->n && n < OWNERS_MOST; i++) {
        if (tree->at[i] && tree->at[i]->row.key.start)
            asked[n++] = asked_of(j, tree->at[i]);
    }
    for (const struct member *m = j->settling.gone; m && n < OWNERS_MOST; m = m->links.list_next) {
        if (m->row.key.start)
            asked[n++] = asked_of(j, m);
    }
    for (const struct job_late *one = j->settling.late; one && n < OWNERS_MOST; one = one->next)
        asked[n++] = asked_of(j, one->member);
    sockets_ask_end(r->sockets, n, known_ns(r));
    r->asked_ns = r->sampling->now_ns;
}

static void lack(struct member *m, enum baro_absent why)
{
    static const int ids[] = {PROCESS_tcp_sent, PROCESS_tcp_received, PROCESS_tcp_connections, PROCESS_tcp_listening};
    for (size_t i = 0; i < sizeof(ids) / sizeof(*ids); i++) {
        if (m->row.absent[ids[i]] == BARO_ABSENT_NOT_YET)
            m->row.absent[ids[i]] = (uint8_t)why;
    }
}

/* A process that ended before its descriptors were read has no values. */
static void take_ended(struct member *m, const struct owner *o, bool is_bound)
{
    bool was_read = m->row.absent[PROCESS_tcp_sent] == BARO_PRESENT || o->sent || o->received;
    if (!was_read)
        return;
    member_raise_counter(m, PROCESS_tcp_sent, o->sent);
    member_raise_counter(m, PROCESS_tcp_received, o->received);
    m->tcp.whole = o->whole && !is_bound;
    member_moved(m);
}

static void take_row(struct member *m, const struct owner *o)
{
    const struct baro_process *p = &m->row;
    bool changed = p->value[PROCESS_tcp_sent] != o->sent || p->value[PROCESS_tcp_received] != o->received ||
                   p->value[PROCESS_tcp_connections] != o->connections ||
                   p->value[PROCESS_tcp_listening] != o->listening ||
                   p->absent[PROCESS_tcp_sent] == BARO_ABSENT_NOT_YET;
    if (!changed)
        return;
    member_moved(m);
    if (o->absent) {
        lack(m, (enum baro_absent)o->absent);
        return;
    }
    member_raise_counter(m, PROCESS_tcp_sent, o->sent);
    member_raise_counter(m, PROCESS_tcp_received, o->received);
    member_set_value(m, PROCESS_tcp_connections, o->connections);
    member_set_value(m, PROCESS_tcp_listening, o->listening);
}

static struct member *find_member(const struct job *j, struct baro_key key)
{
    struct member *m = tree_find(&j->tree, key.pid);
    if (m && baro_key_equal(m->row.key, key))
        return m;
    for (m = j->settling.gone; m && !baro_key_equal(m->row.key, key);)
        m = m->links.list_next;
    const struct job_late *one = m ? NULL : j->settling.late;
    while (one && !baro_key_equal(one->member->row.key, key))
        one = one->next;
    return m ? m : one ? one->member : NULL;
}

static bool take_reading(struct socket_row *r)
{
    const struct owner *rows;
    if (!sockets_take(r->sockets, &r->totals, &rows))
        return false;
    for (uint32_t i = 0; i < r->totals.n; i++) {
        struct member *m = find_member(r->sampling->job, rows[i].key);
        if (m) {
            m->tcp.is_short |= rows[i].is_short;
            m->tcp.unsettled = rows[i].is_unsettled;
        }
        if (m && rows[i].absent == BARO_ABSENT_GONE)
            take_ended(m, &rows[i], r->totals.is_bound);
        else if (m)
            take_row(m, &rows[i]);
    }
    r->read = true;
    r->read_ns = r->asked_ns;
    return true;
}

/* Drops reports of readings that were taken; there is at most one for each request. */
static void drop_reports(struct socket_row *r)
{
    for (unsigned i = 0; i < REPORTS_MOST && sockets_wait(r->sockets, 0); i++)
        continue;
}

/* A reading of now, on which nothing follows. A busy machine may not do it in time: then what sockets did since the one
 * before is not known. Example: that one found 0 bytes sent, and 5 MB were sent after it: at least 0. */
static bool read_last(struct socket_row *r)
{
    uint64_t until = clock_monotonic_ns() + LAST_MOST, now = until - LAST_MOST;
    drop_reports(r);
    ask(r);
    for (; now < until && sockets_wait(r->sockets, until - now); now = clock_monotonic_ns()) {
        if (take_reading(r) && sockets_is_answered(r->sockets))
            return true;
    }
    r->totals.is_bound = r->totals.net_is_bound = true;
    return false;
}

/* What cannot be attributed any more counts for no process. */
static void give_up_unsettled(struct socket_row *r)
{
    const struct tree *tree = &r->sampling->job->tree;
    for (size_t i = 0; i < tree->n; i++) {
        if (tree->at[i])
            tree->at[i]->tcp.is_short |= tree->at[i]->tcp.unsettled;
    }
}

/* If processes live on, one more reading says whether they had forked by the first one. */
static bool read_to_the_end(struct socket_row *r)
{
    const struct sampler_options *o = &r->sampling->options;
    bool done = read_last(r);
    if (done && r->totals.unsettled && r->sampling->job->source.events && o->catch_up) {
        o->catch_up(o->catch_up_context);
        done = read_last(r);
    }
    give_up_unsettled(r);
    return done;
}

void socket_row_close(struct socket_row *r)
{
    if (!r->sockets)
        return;
    r->closed = read_to_the_end(r);
    job_late_report(r->sampling->job, r->sampling->now_ns);
}

static bool tick_sockets(void *state, const struct collector_tick *t)
{
    struct socket_row *r = state;
    prepare_sockets(r);
    if (!r->sockets)
        return false;
    if (t->last && r->closed)
        return true;
    sockets_turn(r->sockets);
    bool taken = take_reading(r);
    job_late_report(r->sampling->job, t->now_ns);
    if (t->last)
        return read_last(r) || taken;
    if (t->now_ns >= r->due_ns) {
        drop_reports(r);
        ask(r);
        r->due_ns = t->now_ns + period(r);
    }
    return taken;
}

/* A lower bound of 0 is no value where no socket was ever read: those that there were ended before, or are hidden. */
static uint8_t absent_sums(const struct sockets_totals *t)
{
    return !t->is_bound || t->any ? BARO_PRESENT : t->denied ? BARO_ABSENT_DENIED : BARO_ABSENT_GONE;
}

void socket_row_fill(const struct socket_row *r, struct baro_sample *s)
{
    const struct sockets_totals *t = &r->totals;
    const struct {
        enum { OF_PROCESSES, OF_NOBODY, OF_NAMESPACES } of;
        enum job_metric id;
        uint64_t value;
    } all[] = {{OF_PROCESSES, JOB_tcp_sent, t->sent},
               {OF_PROCESSES, JOB_tcp_received, t->received},
               {OF_PROCESSES, JOB_tcp_is_lower_bound, t->is_bound},
               {OF_NOBODY, JOB_tcp_read_at, r->read_ns},
               {OF_NOBODY, JOB_tcp_unattributed_sent, t->unattributed_sent},
               {OF_NOBODY, JOB_tcp_unattributed_received, t->unattributed_received},
               {OF_NAMESPACES, JOB_net_sent, t->net_sent},
               {OF_NAMESPACES, JOB_net_received, t->net_received},
               {OF_NAMESPACES, JOB_net_is_lower_bound, t->net_is_bound}};
    uint8_t why = !(r->sampling->need & BARO_SOURCE_SOCK_DIAG) ? BARO_ABSENT_NOT_ASKED
                  : r->read                                    ? t->absent
                                                               : BARO_ABSENT_NOT_YET;
    for (size_t i = 0; i < sizeof(all) / sizeof(*all); i++) {
        uint8_t absent = why;
        if (r->read && all[i].of == OF_NAMESPACES)
            absent = t->net_absent;
        else if (!why && all[i].of == OF_PROCESSES)
            absent = absent_sums(t);
        s->job_absent[all[i].id] = absent;
        s->job[all[i].id] = absent ? 0 : all[i].value;
    }
}

/* ---- the row ---- */

static struct worker *worker_of_sockets(const void *state)
{
    const struct socket_row *r = state;
    return r->sockets ? sockets_worker(r->sockets) : NULL;
}

static void close_sockets(void *state)
{
    struct socket_row *r = state;
    sockets_free(r->sockets);
    r->sockets = NULL;
}

const struct collector socket_collector = {
    .name = "sockets",
    .kinds = COLLECTOR_KIND(BARO_KIND_PROCESS),
    .sources = BARO_SOURCE_SOCK_DIAG,
    .prepare = prepare_sockets,
    .tick = tick_sockets,
    .worker = worker_of_sockets,
    .close = close_sockets,
};
