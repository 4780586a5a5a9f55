/* SPDX-License-Identifier: Apache-2.0 */
#include "libbaro/summary/summary.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>

#include "baro/text.h"
#include "base/min_max.h"

/* ---- the subject ---- */

/* What the header says of the recording. */

/* Truncated if it is too long */
static void summary_copy_text(char *to, size_t cap, const char *from)
{
    size_t n = strnlen(from, cap - 1);
    memcpy(to, from, n);
    to[n] = 0;
}

static bool copy_texts(char ***ret, size_t *ret_n, char *const *from)
{
    size_t n = 0;
    while (from && from[n])
        n++;
    *ret = calloc(n + 1, sizeof(**ret));
    for (size_t i = 0; *ret && i < n; i++) {
        (*ret)[i] = strdup(from[i]);
        if (!(*ret)[i])
            return false;
        ++*ret_n;
    }
    return *ret != NULL;
}

static bool copy_targets(struct summary_subject *s, const struct baro_header *h)
{
    s->targets = calloc(h->n_targets + 1, sizeof(*s->targets)); /* at least one: 0 */
    if (s->targets && h->n_targets)
        memcpy(s->targets, h->targets, h->n_targets * sizeof(*s->targets));
    s->n_targets = h->n_targets;
    return s->targets != NULL;
}

/* Returns false if memory ran out. */
static bool summary_subject_init(struct summary_subject *s, const struct baro_header *h)
{
    s->mode = h->mode;
    s->start_realtime_ns = h->start_realtime_ns;
    s->memory_total = h->memory_total;
    s->overhead_ppm = h->overhead_ppm;
    s->cpus = h->cpus;
    s->numa_nodes = h->numa_nodes;
    summary_copy_text(s->name, sizeof(s->name), h->name);
    summary_copy_text(s->job_id, sizeof(s->job_id), h->job_id);
    summary_copy_text(s->step_id, sizeof(s->step_id), h->step_id);
    summary_copy_text(s->rank, sizeof(s->rank), h->rank);
    summary_copy_text(s->node, sizeof(s->node), h->node);
    s->ranks = h->ranks;
    s->local_ranks = h->local_ranks;
    s->attempt = h->attempt;
    summary_copy_text(s->host, sizeof(s->host), h->host);
    summary_copy_text(s->kernel, sizeof(s->kernel), h->kernel);
    summary_copy_text(s->machine_type, sizeof(s->machine_type), h->machine);
    summary_copy_text(s->cpu_model, sizeof(s->cpu_model), h->cpu_model);
    summary_copy_text(s->event_source, sizeof(s->event_source), h->event_source);
    summary_copy_text(s->exit_source, sizeof(s->exit_source), h->exit_source);
    summary_copy_text(s->cgroup_mode, sizeof(s->cgroup_mode), h->cgroup_mode);
    s->own_cgroup = strcmp(h->cgroup_mode, "own") == 0;
    s->is_machine = strcmp(h->cgroup_mode, "machine") == 0 || strcmp(h->cgroup_mode, "visible") == 0;
    s->is_cgroup = s->own_cgroup || strcmp(h->cgroup_mode, "target") == 0 || strcmp(h->cgroup_mode, "members") == 0;
    return copy_texts(&s->argv, &s->n_argv, h->argv) && copy_texts(&s->tags, &s->n_tags, h->tags) && copy_targets(s, h);
}

static void summary_subject_done(struct summary_subject *s)
{
    for (char **a = s->argv; a && *a; a++)
        free(*a);
    for (char **tag = s->tags; tag && *tag; tag++)
        free(*tag);
    free(s->argv);
    free(s->tags);
    free(s->targets);
}

/* ---- limits that were reached ---- */

/* Limits of --limit that were reached. */

static void summary_note_reached(struct summary_reached *r, const struct baro_event *e)
{
    struct limit_reached l;
    size_t i = 0;
    if (!limit_read(e, &l))
        return;
    while (i < r->n && r->at[i].is.kind != l.kind)
        i++;
    if (i == r->n && !l.is_kill) {
        struct summary_limit_reached *at = &r->at[r->n++];
        snprintf(at->action, sizeof(at->action), "%s", l.action);
        snprintf(at->by, sizeof(at->by), "%s", l.by);
        snprintf(at->largest, sizeof(at->largest), "%s", l.n_holders ? l.holder[0].name : "");
        at->is = l;
    } else if (i < r->n && l.is_kill) {
        r->at[i].is_killed = true;
        r->at[i].left = l.left;
    }
}

static void summary_note_ended_by(struct summary_reached *r, const struct baro_event *e)
{
    struct baro_attribute a;
    if (baro_event_attribute_find(e, ATTRIBUTE_ENDED_BY, &a) == 0 && a.type == BARO_ATTRIBUTE_TEXT)
        snprintf(r->ended_by, sizeof(r->ended_by), "%s", a.text);
}

static const enum exit_metric of_exit[COMMAND_MAX] = {
    [COMMAND_CPU] = EXIT_cpu,
    [COMMAND_CPU_USER] = EXIT_cpu_user,
    [COMMAND_CPU_SYSTEM] = EXIT_cpu_system,
    [COMMAND_IO_READ] = EXIT_own_io_read,
    [COMMAND_IO_WRITE] = EXIT_own_io_write,
    [COMMAND_RSS_PEAK] = EXIT_rss_peak,
    [COMMAND_TCP_SENT] = EXIT_tcp_sent,
    [COMMAND_TCP_RECEIVED] = EXIT_tcp_received,
};

/* ---- making ---- */

struct baro_summary *summary_new(const struct baro_header *h)
{
    struct baro_summary *s = calloc(1, sizeof(*s));
    if (!s)
        return NULL;
    fold_init(&s->fold);
    if (commands_init(&s->commands) < 0 || !summary_subject_init(&s->subject, h) || points_init(&s->points) < 0) {
        summary_free(s);
        return NULL;
    }
    s->life.group_counts = strcmp(h->cgroup_mode, "own") == 0 || strcmp(h->cgroup_mode, "target") == 0;
    s->life.machine_counts = strcmp(h->cgroup_mode, "machine") == 0;
    s->fold.has_foreign_groups = s->subject.is_machine;
    s->limit.now = h->limits;
    summary_held_begin(&s->limit.held, 0);
    needed_init(&s->limit.needed, h->page_size);
    s->tasks.ticks = derive_ticks_of(h);
    s->extent.removed = h->segment > 1;
    s->extent.thinned = h->thinned;
    s->extent.has_start = baro_header_has_start(h);
    s->extent.is_stretch = h->is_stretch;
    s->extent.is_within = header_begins_within(h);
    memset(s->rows.job_absent, BARO_ABSENT_NOT_YET, sizeof(s->rows.job_absent));
    memset(s->rows.self_absent, BARO_ABSENT_NOT_YET, sizeof(s->rows.self_absent));
    for (int i = 0; i < PEAK_MAX; i++)
        s->peaks.sum[i].absent = BARO_ABSENT_NOT_YET;
    if (s->extent.removed && h->peak.rss && !h->is_stretch) /* of samples that were removed */
        s->peaks.sum[PEAK_RSS] = (struct summary_peak){
            .value = h->peak.rss, .t_ns = h->peak.t_ns, .members = h->peak.members, .covered = h->peak.members};
    return s;
}

void summary_free(struct baro_summary *s)
{
    if (!s)
        return;
    summary_subject_done(&s->subject);
    commands_done(&s->commands);
    tasks_done(&s->tasks);
    fold_done(&s->fold);
    points_done(&s->points);
    living_done(&s->living);
    briefs_done(&s->briefs);
    together_done(&s->peaks.together);
    needed_done(&s->limit.needed);
    free(s->programs.at);
    free(s->finished.counted);
    free(s->finished.order);
    free(s);
}

/* ---- samples ---- */

static void insert_holder(struct summary_peak *peak, const struct command *c, uint32_t index)
{
    struct summary_holder h = {index, c->holders, c->held};
    size_t at = peak->n_top;
    while (at > 0 && peak->top[at - 1].value < h.value)
        at--;
    if (at == SUMMARY_HOLDERS)
        return;
    size_t n = peak->n_top < SUMMARY_HOLDERS ? peak->n_top++ : SUMMARY_HOLDERS - 1;
    memmove(&peak->top[at + 1], &peak->top[at], (n - at) * sizeof(h));
    peak->top[at] = h;
}

/* Notes the commands that hold the most; called only at a new peak. */
static void note_holders(struct baro_summary *s, const struct baro_sample *sample, enum process_metric metric,
                         struct summary_peak *peak)
{
    for (uint32_t i = 0; i < s->commands.n; i++) {
        s->commands.at[i].held = 0;
        s->commands.at[i].holders = 0;
    }
    for (size_t i = 0; i < sample->n && i < s->living.n_alive; i++) {
        struct command *c = &s->commands.at[s->living.alive[i].command];
        const struct baro_process *p = sample->processes[i];
        c->held += p->value[metric];
        c->holders += p->absent[metric] == BARO_PRESENT && p->value[metric] > 0;
    }
    peak->n_top = 0;
    for (uint32_t i = 0; i < s->commands.n; i++) {
        if (s->commands.at[i].held)
            insert_holder(peak, &s->commands.at[i], i);
    }
}

static void note_peak(struct baro_summary *s, const struct baro_sample *sample, enum summary_peak_kind kind,
                      const struct derive_sum *sum)
{
    struct summary_peak *peak = &s->peaks.sum[kind];
    if (sum->absent != BARO_PRESENT || !sum->members) {
        if (peak->absent != BARO_PRESENT && sum->absent != BARO_PRESENT)
            peak->absent = sum->absent;
        return;
    }
    bool stale = (kind == PEAK_PSS || kind == PEAK_USS) && derive_is_stale(sample);
    /* A sum with old values is taken only if it is clearly more than one without. Example: 60 MB were read, and later
     * 140 MB, of which some are old: about 140 MB. */
    uint64_t slack = stale == peak->stale ? 0 : peak->value / 50;
    if (peak->absent == BARO_PRESENT && (stale ? sum->value <= peak->value + slack : sum->value + slack <= peak->value))
        return;
    peak->stale = stale;
    peak->absent = BARO_PRESENT;
    peak->value = sum->value;
    peak->t_ns = sample->t_ns;
    peak->members = sum->members;
    peak->covered = sum->covered;
    if (kind == PEAK_RSS || kind == PEAK_PSS)
        note_holders(s, sample, kind == PEAK_RSS ? PROCESS_rss : PROCESS_pss, peak);
}

/* Did a new member run before the recording? What it had used then does not belong to the job. This concerns members
 * of the first sample, and later ones, such as those that came from another control group. */
static bool ran_before(const struct baro_summary *s, const struct baro_process *p)
{
    return (s->subject.mode == BARO_MODE_ATTACH || s->extent.is_within) && p->id > s->living.newest_id &&
           (!s->extent.samples || s->extent.part_begins || !derive_tick_ns(&s->tasks.ticks, p->key.start, 1));
}

static void note_unsure(struct baro_summary *s, const struct baro_sample *sample, const struct derive_sum *rss,
                        enum summary_peak_kind kind, const struct derive_sum *sum)
{
    uint64_t most = derive_sum_at_most(sum, rss, sample);
    if ((sum->covered < sum->members || derive_is_stale(sample)) && most > s->peaks.unsure_most[kind])
        s->peaks.unsure_most[kind] = most;
}

void summary_add_sample(struct baro_summary *s, const struct baro_sample *sample)
{
    const struct derive_sum *sum = s->fold.sum;
    if (s->extent.part_begins)
        living_begin_part(&s->living, sample, s->commands.at);
    fold_add(&s->fold, sample);
    if (!s->extent.samples && s->extent.has_start)
        points_begin(&s->points, s->life.start_ns);
    points_add(&s->points, &s->fold);
    s->failed |= s->fold.failed || !living_begin(&s->living, sample->n);
    for (size_t i = 0; i < sample->n; i++) {
        const struct baro_process *p = sample->processes[i];
        s->failed = !living_add(&s->living, &s->commands, i, p, ran_before(s, p)) || s->failed;
        if (s->extent.is_within)
            stretch_note_process(s, i, p);
        if (p->key.pid == s->subject.targets[0] && s->subject.targets[0] && !s->subject.target_name[0] && p->name)
            summary_copy_text(s->subject.target_name, sizeof(s->subject.target_name), p->name);
    }
    /* Of a tape whose beginning was removed, what was counted until then has no records either. */
    bool is_base = s->extent.removed && !s->extent.samples && !s->extent.part_begins;
    s->failed = !briefs_add(&s->briefs, &s->commands, sample, is_base) || s->failed;
    note_unsure(s, sample, &sum[PEAK_RSS], PEAK_PSS, &sum[PEAK_PSS]);
    note_unsure(s, sample, &sum[PEAK_RSS], PEAK_USS, &sum[PEAK_USS]);
    for (int k = 0; k < PEAK_MAX; k++)
        note_peak(s, sample, (enum summary_peak_kind)k, &sum[k]);
    summary_note_held(s, sample);
    together_add_sample(&s->peaks.together, sample, &s->tasks.ticks, sample->job[JOB_process_rss_peak]);
    s->failed |= s->peaks.together.failed;
    memcpy(s->rows.job, sample->job, sizeof(s->rows.job));
    memcpy(s->rows.job_absent, sample->job_absent, sizeof(s->rows.job_absent));
    memcpy(s->rows.self, sample->self, sizeof(s->rows.self));
    memcpy(s->rows.self_absent, sample->self_absent, sizeof(s->rows.self_absent));
    if (s->extent.is_within)
        stretch_take_rows(s, sample);
    if (!s->rows.self_first_ns && sample->self_absent[RECORDER_cpu] == BARO_PRESENT && sample->self[RECORDER_cpu]) {
        s->rows.self_first_ns = sample->t_ns;
        s->rows.self_first_cpu_ns = sample->self[RECORDER_cpu];
    }
    s->extent.part_begins = false;
    if (!s->extent.samples++)
        s->extent.first_ns = sample->t_ns;
    s->extent.last_ns = sample->t_ns;
    s->incidents.lossy_samples += sample->lossy;
    summary_note_gpus(s, sample);
    if (tasks_add(&s->tasks, sample) < 0)
        s->failed = true;
}

/* ---- exits and events ---- */

/* Returns the part of an exit's CPU time that may be too much. An older tape lacks that metric: then all CPU time
 * that perf reported is unsure. */
static uint64_t unsure_of(const struct baro_exit *e)
{
    if (e->absent[EXIT_cpu] != BARO_PRESENT)
        return 0;
    if (e->absent[EXIT_cpu_unsure] != BARO_PRESENT)
        return e->source == BARO_EXIT_PERF ? e->value[EXIT_cpu] : 0;
    return e->value[EXIT_cpu_unsure] < e->value[EXIT_cpu] ? e->value[EXIT_cpu_unsure] : e->value[EXIT_cpu];
}

static uint64_t teardown_of(const struct baro_exit *e)
{
    if (e->source != BARO_EXIT_TASKSTATS && e->source != BARO_EXIT_PERF)
        return 0;
    return TEARDOWN_NS + (e->absent[EXIT_rss_peak] ? 0 : e->value[EXIT_rss_peak] / 4096 * TEARDOWN_NS_PER_PAGE);
}

void summary_add_exit(struct baro_summary *s, const struct baro_exit *e)
{
    uint64_t value[COMMAND_MAX];
    uint8_t absent[COMMAND_MAX];
    for (int i = 0; i < COMMAND_MAX; i++) {
        value[i] = e->value[of_exit[i]];
        absent[i] = e->absent[of_exit[i]];
    }
    bool is_of_base = s->extent.is_within && stretch_take_exit(s, e, value);
    uint32_t command = commands_find(&s->commands, e->name ? e->name : ""); /* may move the table */
    programs_split(&s->programs, e->key, value, absent, s->commands.at);
    programs_end(&s->programs, e->key);
    command_add(&s->commands.at[command], value, absent);
    /* A process that ran before the tape, or its part, began: what it used while nobody recorded is missing. */
    bool is_of_last = is_of_base ||
                      (s->incidents.is_resumed && derive_tick_ns(&s->tasks.ticks, e->key.start, 0) == 0) ||
                      (s->incidents.has_parts && living_base(&s->living, e->id));
    s->commands.at[command].cpu_is_short |=
        e->source == BARO_EXIT_LAST_SAMPLE || e->source == BARO_EXIT_EVENT || is_of_last;
    s->commands.at[command].cpu_unsure_ns += min_u64(unsure_of(e), value[COMMAND_CPU]);
    s->commands.at[command].teardown_ns += teardown_of(e);
    s->commands.at[command].cpu_is_of_perf |= e->source == BARO_EXIT_PERF;
    s->commands.at[command].io_is_short |=
        e->absent[EXIT_own_io_is_lower_bound] != BARO_PRESENT || e->value[EXIT_own_io_is_lower_bound];
    s->commands.at[command].tcp_is_short |=
        e->absent[EXIT_tcp_is_lower_bound] == BARO_PRESENT && e->value[EXIT_tcp_is_lower_bound];
    s->commands.at[command].rss_is_short |= !summary_mark_is_final(e);
    together_add_exit(&s->peaks.together, e, summary_mark_is_final(e),
                      s->subject.mode == BARO_MODE_ATTACH || is_of_base);
    summary_note_mark(s, e, command);
    if (s->subject.mode == BARO_MODE_RUN || e->absent[EXIT_elapsed] == BARO_PRESENT)
        needed_add_exit(&s->limit.needed, e);
    if (e->absent[EXIT_cpu] == BARO_PRESENT && e->value[EXIT_cpu] < BRIEF_CPU_NS)
        s->brief_cpu_ns += e->value[EXIT_cpu];
    fold_add_exit(&s->fold, e);
    oom_add_exit(&s->oom, e);
    s->failed = !living_end(&s->living, e->id) || s->failed;
}

static void on_start(struct baro_summary *s, const struct baro_event *e)
{
    if (!s->life.started)
        s->life.start_ns = e->t_ns;
    s->life.started = true;
    if (s->subject.mode == BARO_MODE_ATTACH && !s->incidents.has_parts) {
        s->life.before.known = true;
        s->life.before.cpu_ns += e->number;
    }
}

static void name_signal(struct baro_summary *s, int number)
{
    const char *name = baro_signal_name(number);
    if (name)
        snprintf(s->life.exit_signal, sizeof(s->life.exit_signal), "%s", name);
    else
        snprintf(s->life.exit_signal, sizeof(s->life.exit_signal), "%d", number);
}

static void on_end(struct baro_summary *s, const struct baro_event *e)
{
    s->life.ended = true;
    s->life.end_ns = e->t_ns;
    s->life.status_known = !*e->text;
    s->life.detached = strcmp(e->text, "detached") == 0;
    s->life.status = (int)(uint32_t)e->number;
    if (s->life.status_known && WIFSIGNALED(s->life.status))
        name_signal(s, WTERMSIG(s->life.status));
}

static void begin_part(struct baro_summary *s)
{
    s->extent.part_begins = s->incidents.has_parts = true;
    s->failed = !living_end_part(&s->living, &s->programs, s->commands.at) || s->failed;
    s->programs.n = 0;
    briefs_begin_part(&s->briefs);
}

void summary_add_event(struct baro_summary *s, const struct baro_event *e)
{
    switch (e->kind) {
    case BARO_EVENT_START: on_start(s, e); break;
    case BARO_EVENT_EXEC:
        s->failed = !programs_add(&s->programs, &s->commands, e) || s->failed;
        if (s->extent.is_within)
            stretch_take_exec(s, e);
        break;
    case BARO_EVENT_END:
        on_end(s, e);
        summary_note_ended_by(&s->reached, e);
        break;
    case BARO_EVENT_GAP:
        s->incidents.gaps++;
        s->incidents.gap_ns += e->number;
        s->incidents.is_resumed |= strcmp(baro_event_text(e), GAP_NO_OBSERVER) == 0;
        if (strcmp(baro_event_text(e), GAP_NEXT_PART) == 0)
            begin_part(s);
        break;
    case BARO_EVENT_SUSPEND: s->incidents.suspended_ns += e->number; break;
    case BARO_EVENT_CLOCK_STEP: s->incidents.clock_steps++; break;
    case BARO_EVENT_THINNED: summary_copy_text(s->incidents.thinned, sizeof(s->incidents.thinned), e->text); break;
    case BARO_EVENT_SURVIVOR:
        s->incidents.survivors++;
        summary_copy_text(s->incidents.survivor, sizeof(s->incidents.survivor), e->text);
        break;
    case BARO_EVENT_WARNING:
        if (strcmp(baro_event_text(e), MEMORY_COUNTS_TWICE) == 0) {
            s->incidents.warnings -= s->incidents.memory_counts_twice; /* each segment has it, and it counts once */
            s->incidents.memory_counts_twice = true;
        }
        s->incidents.warnings++;
        summary_copy_text(s->incidents.warning, sizeof(s->incidents.warning), e->text);
        break;
    case BARO_EVENT_OOM: oom_add_event(&s->oom, e); break;
    case BARO_EVENT_LIMIT: summary_note_reached(&s->reached, e); break;
    case BARO_EVENT_MARK: summary_note_allocator(s, e); break;
    case BARO_EVENT_WRAPPER_LOST: s->life.wrapper_lost = true; break;
    case BARO_EVENT_SOURCE:
        if (e->number == 2)
            summary_copy_text(s->subject.perf_refused, sizeof(s->subject.perf_refused), e->text);
        else if (e->number)
            summary_copy_text(s->subject.event_source, sizeof(s->subject.event_source), e->text);
        else
            summary_copy_text(s->subject.exit_source, sizeof(s->subject.exit_source), e->text);
        break;
    default: break;
    }
}
