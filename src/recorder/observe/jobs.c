/* SPDX-License-Identifier: Apache-2.0 */
#include "recorder/observe/jobs.h"

#include <assert.h>
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/array.h"
#include "base/clock.h"
#include "base/map.h"
#include "recorder/observe/state.h"

#define TURN_NS (500 * NS_PER_MS) /* between two searches for jobs */
#define QUIET_NS (60 * NS_PER_SEC)
#define SEARCH_NS (2 * NS_PER_MS) /* how long a turn searches before samples that are due are taken */
#define LATE_NS (10 * NS_PER_SEC) /* a search that takes longer is reported */

#define AT_ONCE UINT64_MAX

/* A search for jobs. */
struct search {
    struct jobs *jobs;
    struct observer *observer;
    uint64_t until_ns;
    uint64_t put_off_ns; /* CPU time of attempts that the jobs wait for themselves */
    bool any_begun;
};

/* ---- the list ---- */

/* Returns the position of the first entry whose name has this hash, or the one at which to insert it. */
static size_t place_of(const struct jobs *j, uint64_t hash)
{
    size_t from = 0, to = j->n;
    while (from < to) {
        size_t mid = from + (to - from) / 2;
        if (j->at[mid].hash < hash)
            from = mid + 1;
        else
            to = mid;
    }
    return from;
}

static uint64_t hash_of(const char *name)
{
    return map_hash(name, strlen(name));
}

/* id: NULL for any. */
static bool is_known(const struct jobs *j, const char *name, const uint64_t *id)
{
    uint64_t hash = hash_of(name);
    for (size_t i = place_of(j, hash); i < j->n && j->at[i].hash == hash; i++) {
        if (strcmp(j->at[i].entry->name, name) == 0 && (!id || j->at[i].entry->id == *id))
            return true;
    }
    return false;
}

static bool reserve(struct jobs *j)
{
    struct job_slot *grown = array_room(j->at, j->n, &j->cap, sizeof(*grown));
    if (!grown)
        return false;
    j->at = grown;
    return true;
}

static void insert(struct jobs *j, struct job_entry *e)
{
    const struct job_slot slot = {hash_of(e->name), e};
    size_t i = place_of(j, slot.hash);
    memmove(j->at + i + 1, j->at + i, (j->n++ - i) * sizeof(slot));
    j->at[i] = slot;
}

static void entry_free(struct job_entry *e)
{
    job_tape_close(e);
    if (e->file)
        task_file_done(e->file);
    free(e->file);
    free(e->name);
    free(e);
}

static void on_ended(void *context, void *job)
{
    struct jobs *j = context;
    struct job_entry *e = job;
    size_t i = place_of(j, hash_of(e->name));
    while (j->at[i].entry != e)
        i++;
    if (!e->begun)
        job_tape_discard(e);
    task_files_ended(j, e);
    memmove(j->at + i, j->at + i + 1, (--j->n - i) * sizeof(*j->at));
    entry_free(e);
}

/* ---- beginning ---- */

/* If all tasks name processes by pid, the process that selects is not needed (recorder/loop/pinned.c). */
static void set_tasks(struct job_entry *e, const struct job_request *q)
{
    const struct task_file *f = q->tasks;
    bool selects = f->rules.n > 0;
    for (size_t i = 0; i < f->n_pins; i++)
        selects |= f->pin[i].kind != PIN_PID;
    e->tasks = (struct select_options){.name = e->name,
                                       .rules = &f->rules,
                                       .pins = f->pin,
                                       .n_pins = f->n_pins,
                                       .sandboxes = f->sandbox,
                                       .n_sandboxes = f->n_sandboxes};
    e->options.attach.select = selects ? &e->tasks : NULL;
    e->options.attach.pinned = selects ? NULL : &e->tasks;
    e->options.attach.task_file = q->task_file;
}

static struct job_entry *entry_new(struct jobs *j, const struct job_request *q)
{
    struct job_entry *e = calloc(1, sizeof(*e));
    if (!e)
        return NULL;
    *e = (struct job_entry){
        .jobs = j, .name = strdup(q->name), .id = q->id, .options = j->options->record, .segments = {.dir_fd = -1}};
    e->options.observer.context = e;
    e->options.scope.host = e->options.attach.host_alone = !q->cgroup && !q->tasks;
    e->options.attach.cgroup = q->cgroup ? e->name : NULL;
    if (q->tasks)
        set_tasks(e, q);
    if (e->name)
        return e;
    free(e);
    return NULL;
}

void jobs_say_failed(struct jobs *j, const char *line)
{
    uint64_t now = clock_monotonic_ns();
    if (!j->failed_ns || now > j->failed_ns + QUIET_NS)
        j->options->say(j->options->context, line);
    j->failed_ns = now;
}

/* In the next part of a tape: drops the processes that have ended since they were named. */
static int keep_pins(struct job_entry *e, const struct job_request *q, struct baro_error *err)
{
    task_file_keep(q->tasks, e->before_boottime_ns, e->before_clk_tck);
    e->tasks.n_pins = q->tasks->n_pins;
    return e->options.attach.select || e->tasks.n_pins
               ? 0
               : error_set(err, -ESRCH, "%s: all processes of its tasks have ended", q->task_file);
}

static int begin_job(struct search *s, const struct job_request *q, struct job_entry **ret, struct baro_error *err)
{
    struct jobs *j = s->jobs;
    struct job_entry *e = reserve(j) ? entry_new(j, q) : NULL;
    int code = e ? job_tape_open(e, err) : error_set(err, -ENOMEM, "out of memory");
    bool opened = code == 0;
    if (opened && q->tasks && e->options.attach.before)
        code = keep_pins(e, q, err);
    if (code == 0)
        code = observe_begin(s->observer, &e->options, &e->recorder, err);
    if (code == 0) {
        e->options.attach.task_file = NULL; /* it was borrowed */
        e->file = q->tasks;
        insert(j, e);
        s->any_begun = true;
        *ret = e;
        return 0;
    }
    if (code == -EMFILE)
        error_set(err, code,
                  "%s can't be recorded: no descriptor is left (ulimit -n), and a job takes ten to thirty; "
                  "it is tried again",
                  q->name);
    else if (!*err->text)
        error_set(err, code, "%s can't be recorded: %s", q->name, strerror(-code));
    if (opened && e->begun)
        left_give_back(&j->left, e);
    else if (opened)
        job_tape_discard(e);
    if (e)
        entry_free(e);
    return code;
}

static uint64_t cpu_now(void)
{
    uint64_t ns = 0;
    clock_process_cpu_ns(0, &ns);
    return ns;
}

static struct failed_job *find_failed(struct jobs *j, uint64_t key)
{
    for (size_t i = 0; i < FAILED_MOST; i++) {
        if (j->failed[i].key == key)
            return &j->failed[i];
    }
    return &j->failed[j->next_failed++ % FAILED_MOST];
}

/* A job that could not begin waits until the attempt is paid, the search for others does not. Example: a group of
 * 20,000 groups, whose only process is in one that is not walked. */
static void put_off(struct search *s, struct failed_job *f, uint64_t key, uint64_t cost_ns)
{
    uint64_t now = clock_monotonic_ns();
    s->put_off_ns += f->key == key || now >= f->retry_ns ? cost_ns : 0;
    *f = (struct failed_job){key, now + observe_pause(s->observer, cost_ns, 5)};
}

/* Begins a job that a search has found. If that fails, a later turn finds it again. */
static bool begin_found(struct search *s, const struct job_request *q)
{
    struct jobs *j = s->jobs;
    struct job_entry *e;
    struct baro_error err = BARO_ERROR_INIT;
    uint64_t key = map_hash(q->name, strlen(q->name)) ^ q->id, cpu = cpu_now();
    struct failed_job *f = find_failed(j, key);
    if (f->key == key && clock_monotonic_ns() < f->retry_ns)
        return false;
    int code = begin_job(s, q, &e, &err);
    if (code < 0)
        put_off(s, f, key, cpu_now() - cpu);
    if (code < 0 && code != -ESRCH && code != -ENOENT) /* the group may have become empty meanwhile */
        jobs_say_failed(j, err.text);
    return code == 0;
}

static int begin_tasks(void *context, const struct job_request *q, struct job_entry **ret, struct baro_error *err)
{
    return begin_job(context, q, ret, err);
}

/* By its name alone: in v1 the group of that name has another inode in each hierarchy. One that was removed and made
 * again is found when the job of the first one has ended. */
static bool is_known_group(void *context, const char *path)
{
    return is_known(((const struct search *)context)->jobs, path, NULL);
}

static bool on_group(void *context, const char *path, uint64_t inode)
{
    const struct job_request q = {.name = path, .id = inode, .cgroup = path};
    return begin_found(context, &q);
}

/* Reports that a pattern matches nothing: it may be misspelt, or relative to another path. */
static void say_no_match(void *context, const char *pattern)
{
    const struct jobs *j = ((const struct search *)context)->jobs;
    struct baro_error line = BARO_ERROR_INIT;
    error_set(&line, -ENOENT,
              "--cgroup %s: no control group with processes matches so far; a pattern is relative to /sys/fs/cgroup, "
              "as paths in "
              "/proc/PID/cgroup are. Each one that appears is recorded",
              pattern);
    if (!j->were_searched)
        j->options->say(j->options->context, line.text);
}

static void say_late(struct jobs *j, bool at_end)
{
    bool is_late = clock_monotonic_ns() > groups_since_ns(&j->groups) + LATE_NS;
    if (is_late && !j->said_late)
        j->options->say(j->options->context,
                        "so many control groups match --cgroup that one search takes more than 10 s of what --overhead "
                        "allows: a job in a folder of many groups is recorded late, and one that is short may not be");
    j->said_late = is_late || (j->said_late && !at_end);
}

static struct groups_search groups_search_of(struct search *s)
{
    struct jobs *j = s->jobs;
    return (struct groups_search){.patterns = j->options->patterns,
                                  .n_patterns = j->options->n_patterns,
                                  .known = is_known_group,
                                  .fn = on_group,
                                  .no_match = say_no_match,
                                  .context = s,
                                  .missed = &j->missed};
}

/* Groups that were just made are tried at once, and again as long as they have no process. Returns when to go on. */
static uint64_t begin_new(struct jobs *j, struct observer *o)
{
    uint64_t now = clock_monotonic_ns(), cpu = cpu_now();
    struct search s = {.jobs = j, .observer = o, .until_ns = now + SEARCH_NS};
    const struct groups_search groups = groups_search_of(&s);
    if (now < j->paid_ns)
        return j->paid_ns;
    missed_read(&j->missed, s.until_ns);
    missed_begin(&j->missed, &groups, s.until_ns);
    uint64_t due = missed_due_ns(&j->missed);
    j->paid_ns = s.any_begun ? 0 : clock_monotonic_ns() + observe_pause(o, cpu_now() - cpu - s.put_off_ns, 2);
    return due > j->paid_ns ? due : j->paid_ns;
}

static uint64_t search_groups(struct search *s)
{
    struct jobs *j = s->jobs;
    const struct job_request host = {.name = "host"};
    const struct groups_search groups = groups_search_of(s);
    if (j->options->host && !is_known(j, host.name, &host.id))
        begin_found(s, &host);
    missed_say(&j->missed, j->options, false);
    bool at_end = groups_turn(&j->groups, &groups, s->until_ns);
    j->were_searched |= at_end;
    say_late(j, at_end);
    return at_end ? TURN_NS : 0;
}

static uint64_t search_tasks(struct search *s)
{
    struct jobs *j = s->jobs;
    if (!j->options->tasks_dir)
        return TURN_NS;
    return task_files_turn(j, s->observer, s->until_ns, begin_tasks, s) ? AT_ONCE : TURN_NS;
}

/* When all living jobs have begun, the jobs of the other tapes without an end have ended. */
static uint64_t close_left(struct search *s)
{
    struct jobs *j = s->jobs;
    const struct task_files *t = j->options->tasks_dir ? &j->task_files : NULL;
    if (!groups_are_read(&j->groups) || (t && !(t->is_listed && task_files_are_read(t))))
        return TURN_NS;
    left_close_one(&j->left, j->options->dir_fd);
    return j->left.n ? 0 : TURN_NS;
}

static uint64_t search_total(struct search *s)
{
    return total_check(s->jobs, s->until_ns);
}

/* Others can make large what is searched: groups, files, tapes. So each search takes some milliseconds, goes on where
 * it stopped, and pauses until it is paid from the budget. One that has begun a job goes on at once, because there may
 * be many. A search returns how long it pauses at least, or AT_ONCE. */
static uint64_t search_all(struct jobs *j, struct observer *o)
{
    static const struct {
        uint64_t (*fn)(struct search *);
        unsigned parts; /* it takes 1/parts of the budget; all together take half of it */
    } search[] = {{search_groups, 5}, {search_tasks, 5}, {close_left, 20}, {search_total, 20}};
    uint64_t due = begin_new(j, o);
    static_assert(sizeof(search) / sizeof(*search) == sizeof(j->due_ns) / sizeof(*j->due_ns), "one for each");
    for (size_t i = 0; i < sizeof(search) / sizeof(*search); i++) {
        uint64_t now = clock_monotonic_ns(), cpu = cpu_now();
        struct search s = {.jobs = j, .observer = o, .until_ns = now + SEARCH_NS};
        if (now >= j->due_ns[i]) {
            uint64_t least = search[i].fn(&s), cost = cpu_now() - cpu - s.put_off_ns;
            uint64_t pause = observe_pause(o, cost, search[i].parts);
            pause = pause > least ? pause : least;
            j->due_ns[i] = s.any_begun || least == AT_ONCE ? 0 : clock_monotonic_ns() + pause;
        }
        due = j->due_ns[i] < due ? j->due_ns[i] : due;
    }
    return due;
}

static uint64_t turn(void *context, struct observer *o)
{
    struct jobs *j = context;
    return folder_check(j, o) ? search_all(j, o) : clock_monotonic_ns() + TURN_NS;
}

static void report_line(void *context, const char *line)
{
    const struct jobs *j = context;
    j->options->say(j->options->context, line);
}

int jobs_run(const struct jobs_options *options, struct baro_error *err)
{
    struct jobs j = {.options = options, .task_files.reader.fd = -1, .folder_was_link = folder_is_link(options->dir)};
    missed_init(&j.missed);
    int code = options->tasks_dir ? lister_new(&j.task_files.lister, options->tasks_dir, err) : 0;
    const struct observe_options o = {.overhead_ppm = options->overhead_ppm,
                                      .no_events = options->no_events,
                                      .turn = turn,
                                      .wake_fd = j.missed.fd,
                                      .worker =
                                          code == 0 && options->tasks_dir ? lister_worker(j.task_files.lister) : NULL,
                                      .say = report_line,
                                      .ended = on_ended,
                                      .context = &j};
    left_list(&j.left, options->dir_fd);
    if (code == 0)
        code = observe_run(&o, err);
    missed_read(&j.missed, clock_monotonic_ns() + NS_PER_SEC);
    missed_say(&j.missed, options, true);
    missed_done(&j.missed);
    groups_again(&j.groups);
    left_done(&j.left);
    left_done(&j.total.all);
    task_files_done(&j.task_files);
    free(j.at);
    return code;
}
