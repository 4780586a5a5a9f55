/* SPDX-License-Identifier: Apache-2.0 */
/*
 * `--tasks DIR`: each task file in the folder is a job, which lasts until the file is changed or removed. The program
 * baro-tasks reads the files (task_reader.c), and another process lists the folder (lister.c). Each version of a file
 * is tried once. It is tried again when a process or control group that it names has appeared, and some time after
 * reading it hung.
 */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/clock.h"
#include "base/map.h"
#include "recorder/observe/state.h"

#define RETRY_NS (2 * NS_PER_SEC)
#define RETRY_HUNG_NS (20 * NS_PER_SEC)
#define HUNG_DOUBLES 8u /* how often the pause doubles: up to 85 minutes */
#define CREDIT_NS NS_PER_SEC
#define READ_PARTS 5u       /* reading takes a fifth of the budget */
#define PATIENCE NS_PER_SEC /* how long reading a file may take before it counts as hanging */

static bool is_same(const struct task_version *a, const struct task_version *b)
{
    return a->inode == b->inode && a->device == b->device && a->size == b->size && a->mtime_s == b->mtime_s &&
           a->mtime_ns == b->mtime_ns && a->owner == b->owner;
}

static uint64_t id_of(const struct task_version *v)
{
    const uint64_t parts[] = {v->inode, v->size, (uint64_t)v->mtime_s, (uint64_t)v->mtime_ns};
    uint64_t hash = 14695981039346656037u; /* FNV-1a, of words */
    for (size_t i = 0; i < sizeof(parts) / sizeof(*parts); i++)
        hash = (hash ^ parts[i]) * 1099511628211u;
    return hash;
}

/* ---- the list ---- */

static void end_job(struct observer *o, struct task_entry *f)
{
    if (f->job)
        observe_end(o, f->job->recorder); /* task_files_ended() */
}

static struct task_entry *find_entry(const struct task_files *t, const char *name)
{
    uint64_t key = map_hash(name, strlen(name));
    for (uint64_t *i = map_find(&t->by_name, key); i; i = map_next(&t->by_name, key, i)) {
        if (strcmp(t->at[*i]->name, name) == 0)
            return t->at[*i];
    }
    return NULL;
}

/* Makes room for n more. Returns false if out of memory. */
static bool put_names(struct task_files *t, size_t n)
{
    map_clear(&t->by_name);
    if (!map_reserve(&t->by_name, t->n + n))
        return false;
    for (size_t i = 0; i < t->n; i++)
        map_add(&t->by_name, map_hash(t->at[i]->name, strlen(t->at[i]->name)), i);
    return true;
}

static struct task_entry *add_entry(struct task_files *t, const char *name)
{
    struct task_entry **grown = t->n < TASK_FILES_MOST ? realloc(t->at, (t->n + 1) * sizeof(*grown)) : NULL;
    t->at = grown ? grown : t->at;
    struct task_entry *f = grown ? calloc(1, sizeof(*f)) : NULL;
    if (f)
        f->name = strdup(name);
    if (!f || !f->name) {
        free(f);
        return NULL;
    }
    map_add(&t->by_name, map_hash(name, strlen(name)), t->n);
    return t->at[t->n++] = f;
}

static void drop(struct task_files *t, size_t i)
{
    struct task_entry *f = t->at[i];
    reader_cancel(&t->reader, f);
    t->at[i] = t->at[--t->n];
    free(f->group);
    free(f->name);
    free(f);
}

static void say_many(struct jobs *j)
{
    struct baro_error line = BARO_ERROR_INIT;
    if (j->task_files.n < TASK_FILES_MOST || j->task_files.said_many)
        return;
    j->task_files.said_many = true;
    error_set(&line, -E2BIG, "%s has more than %u task files: the others are not recorded until some are removed",
              j->options->tasks_dir, TASK_FILES_MOST);
    j->options->say(j->options->context, line.text);
}

static void see(struct jobs *j, struct observer *o, const struct task_found *found)
{
    struct task_files *t = &j->task_files;
    struct task_entry *f = find_entry(t, found->name);
    bool is_new = !f;
    if (is_new)
        f = add_entry(t, found->name);
    if (!f) {
        say_many(j);
        return;
    }
    f->seen = true;
    if (!is_new && is_same(&f->version, &found->version))
        return;
    reader_cancel(&t->reader, f);
    end_job(o, f);
    f->version = found->version;
    f->is_unread = true;
    f->retry_ns = 0;
    f->said_line = f->said_column = 0;
}

static void list(struct jobs *j, struct observer *o)
{
    struct task_files *t = &j->task_files;
    size_t n;
    bool all;
    const struct task_found *found = lister_turn(t->lister, j->options, &n, &all);
    if (!found || !put_names(t, n))
        return;
    for (size_t i = 0; i < t->n; i++)
        t->at[i]->seen = !all;
    for (size_t i = 0; i < n; i++)
        see(j, o, &found[i]);
    lister_taken(t->lister);
    t->is_listed = true;
    for (size_t i = t->n; i-- > 0;) {
        if (t->at[i]->seen)
            continue;
        end_job(o, t->at[i]);
        drop(t, i);
    }
}

/* ---- a file ---- */

static int begin_file(const struct jobs *j, struct task_file *file, struct task_entry *f, const char *path,
                      job_begin_fn *fn, void *context, struct baro_error *err)
{
    char stem[256] = "";
    memcpy(stem, f->name, task_stem_length(f->name) < sizeof(stem) ? task_stem_length(f->name) : 0);
    const struct job_request q = {
        .name = *file->job ? file->job : stem, .id = id_of(&f->version), .tasks = file, .task_file = path};
    int code = task_file_find(file, path, false, err);
    if (code == -ESRCH && job_tape_is_left(j, &q))
        code = task_file_find(file, path, true, err);
    return code < 0 ? code : fn(context, &q, &f->job, err);
}

/* ---- trying again ---- */

static void say_waits(struct jobs *j, struct task_entry *f, const char *path)
{
    struct baro_error line = BARO_ERROR_INIT;
    const struct pin *pin = &f->pin;
    if (pin->line < f->said_line || (pin->line == f->said_line && pin->column <= f->said_column))
        return;
    f->said_line = pin->line;
    f->said_column = pin->column;
    error_set(&line, -ENOENT, "%s:%u:%u: there is no control group %s; the job begins when there is one", path,
              pin->line, pin->column, pin->path);
    j->options->say(j->options->context, line.text);
}

static void wait_for(struct jobs *j, struct task_entry *f, const struct pin *pin, const char *path)
{
    free(f->group);
    f->group = strdup(pin->path);
    f->pin = *pin;
    f->pin.path = f->group;
    if (!f->group)
        return;
    f->retry_ns = clock_monotonic_ns() + RETRY_NS;
    say_waits(j, f, path);
}

static void hung(struct jobs *j, struct task_entry *f, const char *path)
{
    struct baro_error line = BARO_ERROR_INIT;
    f->pin = (struct pin){0};
    f->retry_ns = clock_monotonic_ns() + (RETRY_HUNG_NS << (f->n_hung < HUNG_DOUBLES ? f->n_hung : HUNG_DOUBLES));
    error_set(&line, -ETIMEDOUT, "reading %s hangs; it is tried again", path);
    if (!f->n_hung++)
        j->options->say(j->options->context, line.text);
}

/* Tries the files again whose process or control group has appeared. */
static void retry(struct task_files *t, uint64_t until_ns)
{
    uint64_t now = clock_monotonic_ns();
    for (size_t i = 0; i < t->n && now < until_ns; i++) {
        struct task_entry *f = t->at[i];
        if (!f->retry_ns || now < f->retry_ns)
            continue;
        f->is_unread = f->pin.line ? task_file_is_there(&f->pin) : !reader_left(&t->reader);
        now = clock_monotonic_ns();
        f->retry_ns = f->is_unread ? 0 : now + RETRY_NS;
    }
}

/* ---- reading ---- */

static bool is_lack(int code)
{
    return code == -EMFILE || code == -ENFILE || code == -ENOMEM || code == -ENOSPC || code == -EDQUOT ||
           code == -EROFS || code == -EIO || code == -ESTALE;
}

/* Descriptors or memory ran out: begins no job for a while. After that, one file is tried at a time: otherwise 500
 * files too many would start 500 processes every two seconds. */
static void put_off(struct jobs *j, const char *line)
{
    j->task_files.retry_ns = clock_monotonic_ns() + RETRY_NS;
    jobs_say_failed(j, line);
}

/* Takes what was read of a file. */
static void take_file(struct jobs *j, struct task_entry *f, job_begin_fn *fn, void *context)
{
    struct reader *r = &j->task_files.reader;
    struct baro_error err = BARO_ERROR_INIT;
    f->is_unread = false;
    if (r->is_late) {
        hung(j, f, r->path);
        return;
    }
    f->n_hung = 0;
    struct task_file *file = calloc(1, sizeof(*file));
    int code =
        file ? task_file_take(file, r->path, &r->lines, r->status, &err) : error_set(&err, -ENOMEM, "out of memory");
    if (code == 0)
        code = begin_file(j, file, f, r->path, fn, context, &err);
    if (code == 0)
        return; /* the job has it */
    if (file && file->not_there)
        wait_for(j, f, file->not_there, r->path);
    else if (is_lack(code))
        put_off(j, err.text);
    else
        j->options->say(j->options->context, err.text);
    f->is_unread = is_lack(code);
    if (file)
        task_file_done(file);
    free(file);
}

static void say_left(struct jobs *j)
{
    struct task_files *t = &j->task_files;
    if (t->reader.n_left == READERS_LEFT_MOST && !t->said_left)
        j->options->say(j->options->context, "too many task files can't be read to their end: no more are read until "
                                             "one of them can be");
    t->said_left = t->reader.n_left == READERS_LEFT_MOST;
}

static void not_started(struct jobs *j, const struct task_entry *f, int code)
{
    struct baro_error line = BARO_ERROR_INIT;
    if (code == -EBUSY) {
        say_left(j);
        return;
    }
    error_set(&line, code, "%s/%s can't be read: %s; it is tried again", j->options->tasks_dir, f->name,
              code == -EMFILE ? "no descriptor is left (ulimit -n)" : strerror(-code));
    put_off(j, line.text);
}

/* Is it better to read the file before the other one? Files that have hung come last, because the others would wait for
 * them. The owners take turns, so that the files of one do not wait for thousands of another. Newer files come first:
 * what they name is more likely to be there. */
static bool comes_before(const struct task_files *t, const struct task_entry *f, const struct task_entry *other)
{
    if (!other || f->n_hung != other->n_hung)
        return !other || f->n_hung < other->n_hung;
    bool again = f->version.owner == t->owner, is_others_again = other->version.owner == t->owner;
    if (again != is_others_again)
        return is_others_again;
    return f->version.mtime_s != other->version.mtime_s ? f->version.mtime_s > other->version.mtime_s
                                                        : f->version.mtime_ns > other->version.mtime_ns;
}

/* Returns the next file to read. */
static struct task_entry *next_unread(const struct task_files *t)
{
    struct task_entry *next = NULL;
    for (size_t i = 0; i < t->n; i++) {
        if (t->at[i]->is_unread && comes_before(t, t->at[i], next))
            next = t->at[i];
    }
    return next;
}

/* ---- what reading costs ---- */

static uint64_t cpu_so_far(void)
{
    uint64_t ns = 0;
    clock_process_cpu_ns(0, &ns);
    return ns;
}

/* Files that become jobs are read at once. What others take is paid from the budget, but for the first CREDIT_NS.
 * Example: of 10,000 files with errors 300 are read in the first seconds, then one every 1.5 s. */
static void pay(struct jobs *j, const struct observer *o, uint64_t cost_ns)
{
    uint64_t now = clock_monotonic_ns(), *paid = &j->task_files.paid_ns;
    *paid = (*paid > now ? *paid : now) + observe_pause(o, cost_ns, READ_PARTS);
}

static bool is_unpaid(struct jobs *j, const struct observer *o)
{
    struct baro_error line = BARO_ERROR_INIT;
    struct task_files *t = &j->task_files;
    bool is = j->options->overhead_ppm && t->paid_ns > clock_monotonic_ns() + observe_pause(o, CREDIT_NS, READ_PARTS);
    error_set(
        &line, -EAGAIN,
        "so many files of %s are no job now that reading them takes more than --overhead allows: they are read one "
        "after the other, and a job may begin late",
        j->options->tasks_dir);
    if (is && !t->said_behind)
        j->options->say(j->options->context, line.text);
    t->said_behind |= is;
    return is;
}

bool task_files_turn(struct jobs *j, struct observer *o, uint64_t until_ns, job_begin_fn *fn, void *context)
{
    struct task_files *t = &j->task_files;
    struct task_entry *f;
    uint64_t cpu = cpu_so_far();
    list(j, o);
    retry(t, until_ns);
    while (clock_monotonic_ns() >= t->retry_ns && (f = next_unread(t)) != NULL) {
        if (t->reader.pid <= 0 && is_unpaid(j, o))
            return false;
        if (clock_monotonic_ns() >= until_ns)
            return true;
        int code = reader_start(&t->reader, f, j->options);
        if (code < 0) {
            not_started(j, f, code);
            return false; /* in the next turn */
        }
        if (!reader_wait(&t->reader, until_ns))
            return clock_monotonic_ns() < t->reader.began_ns + PATIENCE;
        f = t->reader.entry;
        if (f)
            take_file(j, f, fn, context);
        t->owner = f ? f->version.owner : t->owner;
        uint64_t before = cpu;
        cpu = cpu_so_far();
        if (!f || !f->job)
            pay(j, o, t->reader.cpu_ns + cpu - before);
        reader_done(&t->reader);
    }
    t->said_behind = t->said_behind && t->paid_ns > clock_monotonic_ns();
    return false;
}

bool task_files_are_read(const struct task_files *t)
{
    return !next_unread(t);
}

void task_files_again(struct task_files *t)
{
    for (size_t i = 0; i < t->n; i++)
        t->at[i]->is_unread |= t->at[i]->job != NULL;
}

void task_files_ended(struct jobs *j, const struct job_entry *e)
{
    for (size_t i = 0; i < j->task_files.n; i++) {
        if (j->task_files.at[i]->job == e)
            j->task_files.at[i]->job = NULL;
    }
}

void task_files_done(struct task_files *t)
{
    while (t->n)
        drop(t, t->n - 1);
    free(t->at);
    map_done(&t->by_name);
    reader_done(&t->reader);
    buf_done(&t->reader.lines);
    lister_free(t->lister);
    *t = (struct task_files){0};
}
