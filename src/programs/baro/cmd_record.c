/* SPDX-License-Identifier: Apache-2.0 */
/* baro record: attaches to running processes or to a control group, or records the machine alone. */
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/error.h"
#include "base/fd.h"
#include "kernel/proc/procfs.h"
#include "programs/baro/follower.h"
#include "programs/baro/background.h"
#include "programs/baro/options_select.h"
#include "programs/baro/recording.h"
#include "programs/baro/run_baro_tasks.h"
#include "recorder/marks/marks_file.h"
#include "recorder/select/select.h"

/* Gets the name of the first target, which becomes part of the tape's name. */
static void target_name(int32_t pid, char *name, size_t cap)
{
    struct buf path = {0};
    buf_printf(&path, "/proc/%d/comm", pid);
    buf_byte(&path, 0);
    ssize_t n = path.failed ? -1 : fd_read_file(-1, (const char *)path.at, name, cap - 1);
    name[n > 0 ? n : 0] = 0;
    name[strcspn(name, "\n")] = 0;
    if (!*name)
        snprintf(name, cap, "pid-%d", pid);
    buf_done(&path);
}

/* "/a/b.scope/" is known as b.scope. */
static void group_name(const char *path, char *name, size_t cap)
{
    size_t n = strlen(path);
    while (n && path[n - 1] == '/')
        n--;
    size_t from = n;
    while (from && path[from - 1] != '/')
        from--;
    snprintf(name, cap, "%.*s", (int)(n - from), path + from);
    if (!*name)
        snprintf(name, cap, "cgroup");
}

/* Rejects options that exclude each other. */
static int check_targets(struct cli *cli, const struct record_settings *s)
{
    const struct select_settings *select = &s->select;
    bool selects = select->n_rules > 0;
    if (select->file && (selects || select->has_uid || select->under || select->children || select->on))
        return cli_failf(cli, "--tasks and --%s: one of them; the tasks of a file have keys for that",
                         selects         ? "match"
                         : select->under ? "under"
                                         : "user");
    bool alone = s->machine && !s->n_pids && !s->cgroup && !selects && !select->file;
    if (!selects && (select->has_uid || (select->under && !alone) || select->children || select->on))
        return cli_failf(cli, "--user, --under, --children and --match-on go with --match, --task or --exact");
    if (!s->n_pids && !s->cgroup && !s->machine && !selects && !select->file)
        return cli_failf(cli, "what is to be recorded? Give --pid N, --cgroup PATH, --match REGEX, --tasks FILE, or "
                              "--host for the machine alone");
    if (select->file && (s->n_pids || s->cgroup))
        return cli_failf(cli, "--tasks and %s: one of them; the tasks of a file have keys for that",
                         s->n_pids ? "--pid" : "--cgroup");
    bool reads_later = selects && (s->n_pids || s->cgroup);
    if (reads_later && (select->under || select->on == MATCH_EXE))
        return cli_failf(cli, "%s and %s: one of them", select->under ? "--under" : "--match-on exe",
                         s->n_pids ? "--pid" : "--cgroup");
    if (s->n_pids && s->cgroup)
        return cli_failf(cli, "--pid and --cgroup: one of them");
    if (s->until_all && !s->n_pids)
        return cli_failf(cli, "--until all goes with --pid");
    if (s->machine && !s->host)
        return cli_failf(cli, "--host and --no-host: one of them");
    return 0;
}

/* Returns the name of the tape. */
static void target_of(const struct record_settings *s, const struct task_file *file, char *name, size_t cap)
{
    fd_hold_standard();
    if (file)
        snprintf(name, cap, "%s", *file->job ? file->job : "tasks");
    else if (s->cgroup)
        group_name(s->cgroup, name, cap);
    else if (s->n_pids)
        target_name(s->pids[0], name, cap);
    else if (s->select.n_rules)
        snprintf(name, cap, "tasks");
    else
        snprintf(name, cap, "host");
}

/* Opens the user's file of --events, which is not removed at the end. Opening does not wait, as the file could be a
 * FIFO. If this user may not write to it, it is not locked, and `baro mark` refuses to write to it. */
static int open_events(const char *path, struct marks_file *ret, struct baro_error *err)
{
    char absolute[PATH_MAX];
    struct stat st;
    const int flags = O_CLOEXEC | O_NONBLOCK | O_NOCTTY;
    *ret = (struct marks_file){.fd = open(path, O_RDWR | O_CREAT | flags, 0666)};
    if (ret->fd < 0 && errno != EISDIR)
        ret->fd = open(path, O_RDONLY | flags);
    if (ret->fd < 0 || fstat(ret->fd, &st) < 0 || !realpath(path, absolute))
        return error_set(err, -errno, "can't open %s: %s", path, strerror(errno));
    if (!S_ISREG(st.st_mode))
        return error_set(err, -EINVAL, "%s is not a regular file", path);
    marks_file_lock(ret->fd);
    if (snprintf(ret->path, sizeof(ret->path), "%s", absolute) >= (int)sizeof(ret->path))
        return error_set(err, -ENAMETOOLONG, "the path of %s is longer than %zu bytes", path, sizeof(ret->path) - 1);
    return 0;
}

/* Reads the tasks from the options, or from the task file. Returns 0 or a negative code. */
static int make_selection(const struct select_settings *s, struct task_file *file, struct select_options *ret,
                          struct buf *ret_lines, struct baro_error *err)
{
    int code = s->file ? task_file_read(file, s->file, err) : select_rules(s, &file->rules, ret_lines, err);
    if (code == 0 && s->file)
        code = task_file_find(file, s->file, false, err);
    bool only_pids = !file->rules.n && file->n_pins;
    for (size_t i = 0; i < file->n_pins; i++)
        only_pids = only_pids && file->pin[i].kind == PIN_PID;
    *ret = (struct select_options){.name = file->job,
                                   .rules = &file->rules,
                                   .pins = file->pin,
                                   .n_pins = file->n_pins,
                                   .sandboxes = file->sandbox,
                                   .n_sandboxes = file->n_sandboxes,
                                   .under = s->under,
                                   .ends = only_pids};
    return code;
}

struct begun {
    struct recording *recording;
    const struct marks_file *marks;
    struct background *background;
};

static void accept_targets(void *context)
{
    const struct recording *r = context;
    const struct begun *b = r->first_sample_context;
    background_accept(b->background);
}

static void report_begun(void *context)
{
    const struct begun *b = context;
    background_report(b->recording->path.len ? (const char *)b->recording->path.at : "", b->marks);
    b->recording->stderr_fd = -1;
}

static int open_marks(const struct record_settings *s, struct marks_file *ret, struct baro_error *err)
{
    *ret = (struct marks_file){.fd = -1};
    if (s->events)
        return open_events(s->events, ret, err);
    if (s->background && marks_file_make(ret) < 0)
        *ret = (struct marks_file){.fd = -1}; /* the job is recorded without marks */
    return 0;
}

static int record(struct cli *cli, const struct record_settings *s, const char *name,
                  const struct select_options *selection, const char *rules, struct background *background)
{
    struct recording recording;
    struct record_options options;
    struct record_end end;
    struct marks_file marks;
    struct baro_error err = BARO_ERROR_INIT;
    if (open_marks(s, &marks, &err) < 0)
        return cli_fail(cli, &err);
    if (recording_open(&recording, cli, s, name, &err) < 0) {
        marks_file_remove(&marks);
        return cli_fail(cli, &err);
    }
    if (recording.path.len)
        follower_push(cli, s->push, (const char *)recording.path.at, 0);
    const struct begun begun = {&recording, &marks, background};
    recording.first_sample = s->background ? report_begun : NULL;
    recording.first_sample_context = (void *)&begun;
    recording_options(&recording, &options);
    options.marks = &marks;
    options.attach.targets = s->pids;
    options.attach.n_targets = (size_t)s->n_pids;
    options.attach.until_all = s->until_all;
    options.attach.cgroup = s->cgroup;
    bool is_named = s->n_pids || s->cgroup;
    options.attach.select = selection->rules->n_tasks && !is_named ? selection : NULL;
    options.task_rules = selection->rules->n_tasks && is_named ? rules : NULL;
    options.attach.starter = background->starter;
    options.on.accepted = s->background ? accept_targets : NULL;
    options.attach.host_alone = !s->n_pids && !s->cgroup && !options.attach.select;
    options.attach.under = options.attach.host_alone ? s->select.under : 0;
    options.no_events |= options.attach.host_alone; /* the ends of processes are not needed */
    int code = record_attach(&options, &end, &err);
    if (code < 0)
        recording_discard(&recording);
    else
        recording_tidy(&recording);
    bool is_empty = !recording.begun; /* the reason was reported */
    recording_done(&recording);
    marks_file_sweep(&marks);
    marks_file_remove(&marks);
    return code < 0 ? cli_fail(cli, &err) : is_empty ? CLI_FAILED : 0;
}

int cmd_record(struct cli *cli, const struct settings *s, char **argv)
{
    struct baro_error err = BARO_ERROR_INIT;
    struct select_options selection;
    struct background background = {.starter_fd = -1};
    char name[TASK_NAME_MOST];
    (void)argv;
    int code = check_targets(cli, &s->record);
    if (code)
        return code;
    if (s->record.background && background_begin(&background, &err) < 0)
        return cli_fail(cli, &err);
    if (s->record.select.old)
        cli_note(cli, "%s", s->record.select.old);
    struct buf lines = {0};
    struct task_file *file = calloc(1, sizeof(*file));
    if (!file)
        return cli_failf(cli, "out of memory");
    if (make_selection(&s->record.select, file, &selection, &lines, &err) < 0) {
        code = cli_fail(cli, &err);
    } else {
        target_of(&s->record, s->record.select.file ? file : NULL, name, sizeof(name));
        code = record(cli, &s->record, name, &selection, (const char *)lines.at, &background);
    }
    task_file_done(file);
    free(file);
    buf_done(&lines);
    return code;
}
