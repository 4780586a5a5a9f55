/* SPDX-License-Identifier: Apache-2.0 */
#include "recorder/job/task.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "recorder/job/counters.h"

#define ANCESTORS_MOST 64

int job_use_tasks(struct job *j, size_t n, bool selects)
{
    j->tasks = calloc(n, sizeof(*j->tasks));
    j->n_tasks = j->tasks ? n : 0;
    j->selected = selects;
    j->open |= selects; /* processes join without an event */
    return j->tasks ? 0 : -ENOMEM;
}

int job_add_task(struct job *j, uint32_t id)
{
    struct job_task *grown = j->n_tasks < JOB_TASKS_MOST ? realloc(j->tasks, (j->n_tasks + 1) * sizeof(*grown)) : NULL;
    if (!grown)
        return -ENOMEM;
    j->tasks = grown;
    grown[j->n_tasks] = (struct job_task){.id = id};
    return (int)++j->n_tasks;
}

static struct job_task *task_of(const struct job *j, const struct member *m)
{
    return m->of_task.number ? &j->tasks[m->of_task.number - 1] : NULL;
}

/* ---- membership ---- */

void job_join(struct job *j, struct member *m, unsigned task, uint64_t begin_ns)
{
    struct job_task *t = &j->tasks[task - 1];
    m->of_task.number = (uint8_t)task;
    m->row.value[PROCESS_task] = t->id;
    m->row.absent[PROCESS_task] = BARO_PRESENT;
    if (!t->started || begin_ns < t->begin_ns)
        t->begin_ns = begin_ns;
    t->started++;
    if (!t->living++)
        t->since_ns = max_u64(begin_ns, t->until_ns); /* time before until_ns was counted already */
    bool known = peak_is_known_at_begin(j, (enum baro_origin)m->row.origin);
    t->peak = max_u64(t->peak, known ? t->living : 1); /* if it is not known: task_note_peaks() */
    member_moved(m);
}

/* Adds a time in which the task had processes; time that was counted before is not counted again. Example: spans of 0
 * to 10 and 20 to 30 ms were counted, and a process is reported late that ran from 5 to 25 ms: 10 ms more. */
void task_add_span(struct job_task *t, uint64_t begin_ns, uint64_t end_ns)
{
    uint64_t counted = 0;
    if (end_ns <= begin_ns)
        return;
    for (unsigned i = 0; i < TASK_SPANS; i++) {
        struct task_span *s = &t->spans[i];
        if (s->end_ns < begin_ns || s->begin_ns > end_ns || !s->end_ns)
            continue;
        counted += s->end_ns - s->begin_ns;
        begin_ns = s->begin_ns < begin_ns ? s->begin_ns : begin_ns;
        end_ns = max_u64(s->end_ns, end_ns);
        *s = (struct task_span){0};
    }
    t->active_ns += end_ns - begin_ns - counted;
    t->spans[t->next_span++ % TASK_SPANS] = (struct task_span){begin_ns, end_ns};
}

void task_ended(struct job *j, struct member *m, uint64_t end_ns)
{
    struct job_task *t = task_of(j, m);
    if (!t || m->of_task.over)
        return;
    m->of_task.over = true;
    t->until_ns = max_u64(t->until_ns, end_ns);
    if (--t->living == 0)
        task_add_span(t, t->since_ns, t->until_ns);
}

void task_note_peaks(struct job *j)
{
    for (size_t i = 0; i < j->n_tasks; i++)
        j->tasks[i].peak = max_u64(j->tasks[i].peak, j->tasks[i].living);
}

void task_revived(struct job *j, struct member *m)
{
    struct job_task *t = task_of(j, m);
    if (!t || !m->of_task.over)
        return;
    m->of_task.over = false;
    if (!t->living++)
        t->since_ns = t->until_ns;
}

void job_leave(struct job *j, struct member *m)
{
    (void)j;
    m->of_task.left = true;
}

void job_task_status(struct job *j, unsigned task, int wait_status)
{
    struct job_task *t = &j->tasks[task - 1];
    t->has_status = true;
    t->wait_status = wait_status;
}

/* ---- what its processes have used ---- */

uint64_t task_user_of(const struct member *m, uint64_t cpu)
{
    uint64_t user = since_joined(m, BASE_CPU_USER, value(m, PROCESS_cpu_user));
    return user < cpu ? user : cpu;
}

const struct task_io task_io[TASK_IO] = {
    {TASK_io_read, EXIT_io_read, PROCESS_io_read, LEDGER_IO_READ},
    {TASK_io_write, EXIT_io_write, PROCESS_io_write, LEDGER_IO_WRITE},
    {TASK_io_rchar, EXIT_io_rchar, PROCESS_io_rchar, LEDGER_IO_RCHAR},
    {TASK_io_wchar, EXIT_io_wchar, PROCESS_io_wchar, LEDGER_IO_WCHAR},
};
_Static_assert(TASK_IO == sizeof(((struct job_task *)0)->io_published) / sizeof(uint64_t), "each sum of I/O");

/* Is its CPU time known up to its end, or until it left? Example of one that is not: without events, a process that had
 * used 30 ms when it was sampled and 60 ms when it ended has 30 ms on the tape. */
static bool cpu_is_whole(const struct member *m)
{
    return m->of_task.left || member_is_final(m) || m->life.cpu_final || member_usage(m)->has_cpu;
}

static bool io_is_known(const struct job *j, const struct member *m)
{
    return m->of_task.left ? m->row.absent[PROCESS_io_rchar] == BARO_PRESENT : io_is_whole(j, m);
}

/* Returns the part of a value of its exit record that counts for the task. The record counts from the beginning of the
 * recording, the task from when the member joined. */
static uint64_t part_of_task(const struct member *m, unsigned counter, uint64_t v)
{
    return m->of_task.base ? since_joined(m, counter, v + (m->account.base ? m->account.base[counter] : 0)) : v;
}

void task_exit(struct job *j, const struct member *m, const struct baro_exit *e)
{
    struct job_task *t = task_of(j, m);
    if (!t)
        return;
    t->gone++;
    t->unread += e->absent[EXIT_cpu] != BARO_PRESENT || !cpu_is_whole(m);
    t->io_unread += !m->account.io_in_parent && !io_is_known(j, m);
    uint64_t cpu = part_of_task(m, BASE_CPU, e->value[EXIT_cpu]);
    uint64_t user = part_of_task(m, BASE_CPU_USER, e->value[EXIT_cpu_user]);
    t->ended[TASK_cpu] += cpu;
    t->ended[TASK_cpu_user] += user < cpu ? user : cpu;
    t->ended[TASK_run_delay] += part_of_task(m, BASE_RUN_DELAY, e->value[EXIT_run_delay]);
    t->rss_peak = max_u64(t->rss_peak, e->value[EXIT_rss_peak]);
    for (size_t i = 0; i < TASK_IO && !m->account.io_in_parent; i++)
        t->ended[task_io[i].task] += part_of_task(m, task_io[i].base, e->value[task_io[i].exit]);
    task_tcp_exit(t, m, e);
}

static uint64_t reported_faults(const struct member *m, enum ledger_counter c)
{
    return member_usage(m)->own[c];
}

void task_settle(struct job *j)
{
    for (const struct member *m = j->settling.gone; m; m = m->links.list_next) {
        uint64_t cpu = since_base(m, BASE_CPU, own_cpu(m)), user = task_user_of(m, cpu);
        j->shortfall.io |= j->alone && !io_is_whole(j, m);
        j->shortfall.cpu |= j->alone && !cpu_is_whole(m);
        j->carried[LEDGER_CPU_USER] += user;
        j->carried[LEDGER_CPU_SYSTEM] += cpu - user;
        for (enum ledger_counter c = LEDGER_IO_READ; c < LEDGER_FAULTS_MINOR && !m->account.io_in_parent; c++)
            j->carried[c] += since_base(m, c, reaped_of(m, c));
        for (enum ledger_counter c = LEDGER_FAULTS_MINOR; c < LEDGER_MAX; c++)
            j->carried[c] += since_base(m, BASE_FAULTS_MINOR + (c - LEDGER_FAULTS_MINOR),
                                        max_u64(own_of(m, c), reported_faults(m, c)));
    }
}

/* ---- tasks of a job that has other members, too ---- */

void task_set_base(struct member *m)
{
    if (!m->of_task.base)
        m->of_task.base = calloc(BASE_MAX, sizeof(*m->of_task.base));
    if (!m->of_task.base)
        return;
    m->of_task.base[BASE_CPU] = own_cpu(m);
    m->of_task.base[BASE_CPU_USER] = value(m, PROCESS_cpu_user);
    m->of_task.base[BASE_RUN_DELAY] = value(m, PROCESS_run_delay);
    for (size_t i = 0; i < TASK_IO; i++)
        m->of_task.base[task_io[i].base] = value(m, task_io[i].process);
    task_tcp_base(m);
}

/* Ends the member's membership in its task. What the member has used so far stays with the task. */
static void leave_task(struct job *j, struct member *m, uint64_t now_ns)
{
    struct job_task *t = task_of(j, m);
    uint64_t cpu = since_joined(m, BASE_CPU, own_cpu(m));
    task_ended(j, m, m->life.end_ns ? m->life.end_ns : now_ns);
    m->of_task.over = false;
    t->gone++;
    t->ended[TASK_cpu] += cpu;
    t->ended[TASK_cpu_user] += task_user_of(m, cpu);
    t->ended[TASK_run_delay] += since_joined(m, BASE_RUN_DELAY, value(m, PROCESS_run_delay));
    for (size_t i = 0; i < TASK_IO; i++)
        t->ended[task_io[i].task] += since_joined(m, task_io[i].base, value(m, task_io[i].process));
    task_tcp_add(m, t->ended);
}

void job_label(struct job *j, struct member *m, unsigned task, uint64_t since_ns, bool from_now)
{
    bool had = m->of_task.number > 0;
    if (m->of_task.number == task)
        return;
    if (had)
        leave_task(j, m, since_ns);
    if (had || from_now)
        task_set_base(m);
    m->of_task.number = (uint8_t)task;
    m->row.absent[PROCESS_task] = BARO_ABSENT_NOT_ASKED;
    member_moved(m);
    if (!task)
        return;
    job_join(j, m, task, since_ns);
    if (member_has_ended(m) || member_is_gone(m))
        task_ended(j, m, m->life.end_ns ? m->life.end_ns : since_ns);
}

void job_inherit(struct job *j, struct member *m, const struct member *parent)
{
    uint8_t task = parent && parent->of_task.of_children ? parent->of_task.of_children : j->all_task;
    if (!task)
        return;
    m->of_task.of_children = task;
    job_label(j, m, task, m->row.first_ns, false);
}

/* The I/O of the exit does not count: the parent may belong to the task, and its I/O may include that of the exit. */
void job_label_exit(struct job *j, struct baro_exit *e, unsigned task, uint64_t begin_ns)
{
    struct job_task *t = &j->tasks[task - 1];
    e->value[EXIT_task] = t->id;
    e->absent[EXIT_task] = BARO_PRESENT;
    if (!t->started || begin_ns < t->begin_ns)
        t->begin_ns = begin_ns;
    t->started++;
    t->gone++;
    t->peak = max_u64(t->peak, t->living + 1);
    t->io_unread++;
    t->unread += e->absent[EXIT_cpu] || e->source == BARO_EXIT_LAST_SAMPLE || e->source == BARO_EXIT_EVENT;
    t->ended[TASK_cpu] += e->value[EXIT_cpu];
    t->ended[TASK_cpu_user] += e->value[EXIT_cpu_user];
    t->ended[TASK_run_delay] += e->value[EXIT_run_delay];
    t->rss_peak = max_u64(t->rss_peak, e->value[EXIT_rss_peak]);
    task_add_span(t, begin_ns, t->living && t->since_ns < e->t_ns ? t->since_ns : e->t_ns);
    task_tcp_label(t, e);
    t->until_ns = max_u64(t->until_ns, e->t_ns);
}

void job_label_missed(struct job *j, unsigned task)
{
    struct job_task *t = &j->tasks[task - 1];
    t->started++;
    t->gone++;
    t->unread++;
    t->io_unread++;
}

void job_task_unread(struct job *j, unsigned task, const uint64_t *cpu_ns)
{
    struct job_task *t = &j->tasks[task - 1];
    t->commands_unread++;
    t->commands_unread_cpu += cpu_ns ? *cpu_ns : 0;
    t->commands_unsized += !cpu_ns;
}

static bool is_started_by(const struct member *m, const struct member *root)
{
    for (int i = 0; m && i < ANCESTORS_MOST; i++) {
        if (m == root || baro_key_equal(m->row.parent, root->row.key))
            return true;
        m = m->links.parent ? m->links.parent : m->account.successor;
    }
    return false;
}

/* The member never belonged to its task: its fork was read before the line in $BARO_EVENTS that names another task. */
static void undo_label(struct job *j, struct member *m)
{
    struct job_task *t = task_of(j, m);
    if (!t)
        return;
    t->started--;
    t->living -= !m->of_task.over;
    m->of_task.over = false;
    m->of_task.number = 0;
    memset(t->io_published, 0, sizeof(t->io_published)); /* the published sums included its I/O */
}

void task_drop(struct job *j, struct member *m)
{
    if (!m->of_task.number)
        return;
    if (m->reading.in_sample)
        job_label(j, m, 0, m->row.first_ns, false);
    else
        undo_label(j, m);
    m->row.absent[PROCESS_task] = BARO_ABSENT_NOT_ASKED;
}

static void label_if_below(struct job *j, struct member *m, const struct member *root, uint8_t before)
{
    if (!m || m == root || m->of_task.of_children != before || !is_started_by(m, root))
        return;
    m->of_task.of_children = root->of_task.of_children;
    undo_label(j, m);
    job_label(j, m, root->of_task.of_children, m->row.first_ns, false);
}

void job_label_below(struct job *j, struct member *root, unsigned task)
{
    uint8_t before = root->of_task.of_children;
    root->of_task.of_children = (uint8_t)task;
    for (size_t i = 0; i < j->tree.n; i++)
        label_if_below(j, j->tree.at[i], root, before);
    for (struct member *m = j->settling.gone; m; m = m->links.list_next)
        label_if_below(j, m, root, before);
}
