/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Notable events, from the events and exits of a tape. Which processes were OOM-killed is known only later, from the
 * counters of the job's control groups. The rules for that are the summary's, so the timeline keeps the part of a
 * summary that they need.
 */
#include <inttypes.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <sys/wait.h>

#include "baro/text.h"
#include "base/fmt.h"
#include "libbaro/sample/limit.h"
#include "libbaro/summary/groups.h"
#include "libbaro/timeline/timeline.h"

static void note_event(struct baro_timeline *t, const struct baro_event *e, const char *name, bool is_problem,
                       struct buf *text)
{
    struct timeline_item *i = timeline_append(t, BARO_TIMELINE_EVENT, name, e->t_ns);
    if (!i) {
        buf_done(text);
        return;
    }
    i->view.pid = e->key.pid;
    i->view.start_ticks = e->key.start;
    i->view.is_problem = is_problem;
    timeline_set_text(t, i, text);
}

static void put_signal(struct buf *b, int number)
{
    const char *name = baro_signal_name(number);
    if (name)
        buf_str(b, name);
    else
        buf_printf(b, "signal %d", number);
}

/* ---- the command ---- */

/* A control group is a target without a pid, and so are tasks. */
static void text_of_target(struct buf *b, const struct summary_subject *s, int32_t pid)
{
    static const char mount[] = "/sys/fs/cgroup";
    const char *what = s->n_argv ? s->argv[0] : "";
    if (pid) {
        buf_printf(b, "attached to process %d", pid);
    } else if (s->is_machine) {
        buf_str(b, "recording of the machine begins");
    } else if (s->is_cgroup) {
        size_t skip = strncmp(what, mount, strlen(mount)) == 0 && what[strlen(mount)] == '/' ? strlen(mount) : 0;
        buf_printf(b, "attached to cgroup %s", what + skip);
    } else {
        buf_printf(b, "attached%s%s", *what ? " to " : "", what);
    }
}

static void on_start(struct baro_timeline *t, const struct baro_event *e)
{
    struct buf text = {0};
    if (!t->command.pid)
        t->command = e->key;
    buf_printf(&text, "start of %s", e->text);
    if (strcmp(e->text, "attached") == 0) {
        buf_clear(&text);
        text_of_target(&text, &t->summary->subject, e->key.pid);
    }
    note_event(t, e, "start", false, &text);
}

static void on_exec(struct baro_timeline *t, const struct baro_event *e)
{
    struct buf text = {0};
    if (e->key.pid != t->command.pid || !t->command.pid)
        return;
    buf_printf(&text, "exec %s", e->text);
    note_event(t, e, "exec", false, &text);
}

static void on_end(struct baro_timeline *t, const struct baro_event *e)
{
    struct buf text = {0};
    int status = (int)(uint32_t)e->number;
    bool known = !*e->text;
    t->end_ns = e->t_ns;
    if (!known) {
        buf_str(&text, strcmp(e->text, "detached") == 0 ? "end of the recording, the job goes on" : "end");
    } else if (WIFSIGNALED(status)) {
        buf_str(&text, "killed by ");
        put_signal(&text, WTERMSIG(status));
    } else {
        buf_printf(&text, "exit %d", WEXITSTATUS(status));
    }
    note_event(t, e, "end", known && status != 0, &text);
}

static void on_signal(struct baro_timeline *t, const struct baro_event *e)
{
    struct buf text = {0};
    put_signal(&text, (int)e->number);
    buf_str(&text, " forwarded");
    note_event(t, e, "signal", false, &text);
}

static void on_stop(struct baro_timeline *t, const struct baro_event *e)
{
    struct buf text = {0};
    buf_str(&text, "stopped by ");
    put_signal(&text, (int)e->number);
    size_t before = t->n_all;
    note_event(t, e, "stopped", false, &text);
    t->stopped = t->n_all > before ? t->all[before] : NULL;
}

static void on_cont(struct baro_timeline *t, const struct baro_event *e)
{
    if (t->stopped && e->t_ns > t->stopped->view.begin_ns)
        t->stopped->view.end_ns = e->t_ns;
    t->stopped = NULL;
}

/* ---- the recording ---- */

static void on_gap(struct baro_timeline *t, const struct baro_event *e)
{
    struct buf text = {0};
    buf_str(&text, "gap of ");
    fmt_duration(&text, e->number);
    buf_printf(&text, ": %s", e->text);
    size_t before = t->n_all;
    note_event(t, e, "gap", true, &text);
    if (t->n_all > before)
        t->all[before]->view.begin_ns = e->number < e->t_ns ? e->t_ns - e->number : 0;
}

static void on_suspend(struct baro_timeline *t, const struct baro_event *e)
{
    struct buf text = {0};
    buf_str(&text, "the machine slept for ");
    fmt_duration(&text, e->number);
    note_event(t, e, "suspend", true, &text);
}

static void on_clock_step(struct baro_timeline *t, const struct baro_event *e)
{
    struct buf text = {0};
    int64_t step = (int64_t)e->number;
    buf_str(&text, "the wall clock was set ");
    fmt_duration(&text, step < 0 ? 0 - (uint64_t)step : (uint64_t)step);
    buf_str(&text, step < 0 ? " back" : " forward");
    note_event(t, e, "clock_step", false, &text);
}

static void on_lossy(struct baro_timeline *t, const struct baro_event *e)
{
    struct buf text = {0};
    buf_str(&text, "events lost");
    if (*e->text)
        buf_printf(&text, " (%s)", e->text);
    note_event(t, e, "lost_events", true, &text);
}

static void on_text(struct baro_timeline *t, const struct baro_event *e, const char *name, const char *format,
                    bool is_problem)
{
    struct buf text = {0};
    buf_str(&text, format);
    buf_str(&text, e->text);
    note_event(t, e, name, is_problem, &text);
}

void timeline_add_damage(struct baro_timeline *t, uint64_t t_ns)
{
    const struct baro_event e = {.t_ns = t_ns, .text = ""};
    on_text(t, &e, "damage", "damaged bytes of the tape were left out", true);
}

/* The end of that process, which SIGKILL ended. */
static struct timeline_item *kill_of(struct baro_timeline *t, struct baro_key key)
{
    for (size_t i = t->n_all; i-- > 0;) {
        const struct baro_timeline_item *v = &t->all[i]->view;
        if (v->kind == BARO_TIMELINE_EVENT && v->pid == key.pid && v->start_ticks == key.start &&
            strcmp(v->name, "killed") == 0)
            return t->all[i];
    }
    return NULL;
}

/* At the end of a job the kernel's log names its own, all at once; on a machine each kill that the log names is an
 * event of that process, and others are counted. */
static void on_oom(struct baro_timeline *t, const struct baro_event *e)
{
    struct buf text = {0};
    if (!t->summary->subject.is_machine) {
        snprintf(t->killed.logged, sizeof(t->killed.logged), "%s", e->text);
        return;
    }
    struct timeline_item *end = e->key.pid > 0 ? kill_of(t, e->key) : NULL;
    if (end) {
        end->view.name = "oom_kill";
        buf_str(&text, "OOM kill of ");
        event_put_victim(e, &text);
        timeline_set_text(t, end, &text);
        return;
    }
    buf_printf(&text, "%" PRIu64 " OOM-killed%s%s", e->number, *e->text ? ": " : "", e->text);
    note_event(t, e, "oom", true, &text);
}

static void on_limit(struct baro_timeline *t, const struct baro_event *e)
{
    struct limit_reached l;
    struct buf text = {0};
    if (!limit_read(e, &l))
        return;
    if (l.is_kill)
        buf_printf(&text, "SIGKILL to %" PRIu64 " after the grace", l.left);
    else
        limit_put_sentence(&l, &text);
    note_event(t, e, "limit", true, &text);
}

void timeline_add_event(struct baro_timeline *t, const struct baro_event *e)
{
    switch (e->kind) {
    case BARO_EVENT_START: on_start(t, e); break;
    case BARO_EVENT_EXEC: on_exec(t, e); break;
    case BARO_EVENT_END: on_end(t, e); break;
    case BARO_EVENT_SIGNAL: on_signal(t, e); break;
    case BARO_EVENT_STOP: on_stop(t, e); break;
    case BARO_EVENT_CONT: on_cont(t, e); break;
    case BARO_EVENT_GAP: on_gap(t, e); break;
    case BARO_EVENT_SUSPEND: on_suspend(t, e); break;
    case BARO_EVENT_CLOCK_STEP: on_clock_step(t, e); break;
    case BARO_EVENT_LOSSY: on_lossy(t, e); break;
    case BARO_EVENT_WARNING: on_text(t, e, "warning", "", true); break;
    case BARO_EVENT_WRAPPER_LOST: on_text(t, e, "wrapper_lost", "", true); break;
    case BARO_EVENT_SURVIVOR: on_text(t, e, "survivor", "outlived the command: ", false); break;
    case BARO_EVENT_OOM: on_oom(t, e); break;
    case BARO_EVENT_LIMIT: on_limit(t, e); break;
    case BARO_EVENT_MARK: timeline_add_mark(t, e); break;
    case BARO_EVENT_PHASE_BEGIN: timeline_add_begin(t, e); break;
    case BARO_EVENT_PHASE_END: timeline_add_end(t, e); break;
    case BARO_EVENT_MISSED:
    case BARO_EVENT_THINNED:
    case BARO_EVENT_SOURCE: break;
    }
}

/* ---- processes that were killed ---- */

/* Does the signal mean that something went wrong? Programs use other signals to end each other as usual. */
static bool is_fault(int number)
{
    switch (number) {
    case SIGKILL:
    case SIGSEGV:
    case SIGABRT:
    case SIGBUS:
    case SIGILL:
    case SIGFPE:
    case SIGSYS:
    case SIGTRAP:
    case SIGXCPU:
    case SIGXFSZ: return true;
    default: return false;
    }
}

void timeline_add_exit(struct baro_timeline *t, const struct baro_exit *e)
{
    struct baro_event as = {.t_ns = e->t_ns, .key = e->key, .text = e->name ? e->name : ""};
    struct timeline_killed *k = &t->killed;
    bool is_of_job = !t->summary->subject.is_machine;
    struct buf text = {0};
    timeline_process_ended(t, e);
    if (!e->status_known || !WIFSIGNALED(e->status) || !is_fault(WTERMSIG(e->status)))
        return;
    size_t before = t->n_all;
    buf_printf(&text, "%s killed by ", as.text);
    put_signal(&text, WTERMSIG(e->status));
    note_event(t, &as, "killed", true, &text);
    if (t->n_all > before)
        timeline_set_process(t, t->all[before], as.text);
    if (is_of_job && WTERMSIG(e->status) == SIGKILL && k->n < OOM_TIMES && t->n_all > before)
        k->item[k->n++] = t->all[before];
}

/* Is a name among those of the kernel's log, "cc1, python3"? */
static bool is_logged(const struct timeline_killed *k, const char *name)
{
    size_t len = strlen(name);
    for (const char *at = k->logged; len && (at = strstr(at, name)) != NULL; at += len) {
        if ((at == k->logged || at[-1] == ' ') && (at[len] == 0 || at[len] == ','))
            return true;
    }
    return false;
}

static const char *process_of(const struct timeline_item *i)
{
    return i->view.attribute_count ? i->view.attribute[0].text : "";
}

static void name_kill(struct baro_timeline *t, struct timeline_item *i, bool is_oom, bool is_certain)
{
    struct buf text = {0};
    if (!is_oom)
        buf_printf(&text, "%s killed by SIGKILL", process_of(i));
    else
        buf_printf(&text, "%s of %s", is_certain ? "OOM kill" : "likely OOM kill", process_of(i));
    i->view.name = is_oom ? "oom_kill" : "killed";
    timeline_set_text(t, i, &text);
}

void timeline_name_kills(struct baro_timeline *t)
{
    bool counted[OOM_TIMES];
    bool logged = t->summary->oom.logged;
    oom_ends(t->summary, counted);
    for (size_t k = 0; k < t->killed.n; k++) {
        struct timeline_item *i = t->killed.item[k];
        bool is_oom = logged ? is_logged(&t->killed, process_of(i)) : counted[k];
        name_kill(t, i, is_oom, logged || groups_oom_alone(t->summary));
        /* If it is the command, the item of the command's end says the same. */
        i->is_hidden = !is_oom && i->view.pid == t->command.pid && i->view.start_ticks == t->command.start;
    }
}
