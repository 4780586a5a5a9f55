/* SPDX-License-Identifier: Apache-2.0 */
/* baro record: attaches to running processes or to a control group, or records the machine alone. */
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "base/clock.h"
#include "base/error.h"
#include "base/fd.h"
#include "base/json.h"
#include "kernel/proc/procfs.h"
#include "libbaro/metric/ids.h"
#include "libbaro/sample/sample.h"
#include "programs/baro/follower.h"
#include "programs/baro/options_select.h"
#include "programs/baro/recording.h"
#include "programs/baro/run_baro_tasks.h"
#include "recorder/marks/marks_file.h"
#include "recorder/select/select.h"
#include "recorder/wrapper/fds.h"

/* ---- --background ---- */

/*
 * record --background: the recorder is a process that nobody waits for, in a session of its own, without any descriptor
 * of the program that started it.
 *
 * The process that was started waits until it is known that there is something to record and where to, and ends with
 * the status of the recorder if there is not. Then it ends with 0, and the recorder waits a moment until it has been
 * reaped: if the target is the program that started us, the starter is neither a member of the job nor part of what the
 * job used. Of what fails later standard error has the message alone.
 */

struct background {
    struct baro_key starter; /* the process that was started; start 0: not known */
    int32_t parent;          /* its parent */
    int starter_fd;          /* it reads from this pipe */
};

#define REAPED_WITHIN_MS 20 /* a shell that reads the output reaps later: then the recorder leaves out the starter */
#define REAPED_AT_LAST_MS 2000
#define EXIT_NOT_KNOWN 2 /* of a recorder that failed */

static bool read_stat(pid_t pid, struct pid_stat *ret)
{
    int proc_fd = open("/proc", O_PATH | O_DIRECTORY | O_CLOEXEC);
    int code = proc_read_stat(proc_fd, pid, ret);
    fd_close(proc_fd);
    return code == 0;
}

static uint64_t own_start_ticks(void)
{
    struct pid_stat st;
    return read_stat(getpid(), &st) ? st.starttime : 0;
}

/* Does the starter still exist? Once it has been reaped, another process may soon have its pid. */
static bool is_there(const struct baro_key *starter)
{
    struct pid_stat st;
    return read_stat(starter->pid, &st) && st.starttime == starter->start;
}

/* Waits until the starter's parent has reaped it. A parent that waits for a CPU could not do that yet, so only the
 * time in which it sleeps counts. */
static void wait_until_gone(const struct baro_key *starter, int32_t parent)
{
    const struct timespec pause = {.tv_nsec = NS_PER_MS / 5};
    uint64_t now = clock_monotonic_ns(), end = now + REAPED_WITHIN_MS * NS_PER_MS;
    const uint64_t at_last = now + REAPED_AT_LAST_MS * NS_PER_MS;
    struct pid_stat st;
    while (is_there(starter) && now < end && now < at_last) {
        nanosleep(&pause, NULL);
        now = clock_monotonic_ns();
        if (read_stat(parent, &st) && st.state == 'R')
            end = now + REAPED_WITHIN_MS * NS_PER_MS;
    }
}

/* The recorder writes a byte once it has something to record; without one it has ended. */
static _Noreturn void end_as(pid_t recorder, int fd)
{
    char byte;
    int status;
    ssize_t n;
    unsigned tries = 0;
    do
        n = read(fd, &byte, 1);
    while (n < 0 && fd_again(&tries));
    if (n == 1)
        _exit(0);
    while (waitpid(recorder, &status, 0) < 0) {
        if (!fd_again(&tries))
            _exit(EXIT_NOT_KNOWN); /* SIGCHLD is ignored */
    }
    _exit(WIFEXITED(status) ? WEXITSTATUS(status) : EXIT_NOT_KNOWN);
}

/* Returns only in the recorder: 0 or -errno. */
static int background_begin(struct background *ret, struct baro_error *err)
{
    int fd[2];
    *ret = (struct background){{getpid(), own_start_ticks()}, getppid(), -1};
    if (pipe2(fd, O_CLOEXEC) < 0)
        return error_set(err, -errno, "can't make a pipe: %s", strerror(errno));
    pid_t pid = fork();
    if (pid < 0)
        return error_set(err, -errno, "can't start a process: %s", strerror(errno));
    if (pid) {
        close(fd[1]);
        end_as(pid, fd[0]);
    }
    setsid(); /* ^C of the terminal is for the job */
    fds_close_others(&fd[1], 1);
    ret->starter_fd = fd[1];
    return 0;
}

/* Lets the starter end, which its parent may reap after this has returned. */
static void background_accept(struct background *b)
{
    fd_write_all(b->starter_fd, "", 1, NULL);
    fd_close(b->starter_fd);
    wait_until_gone(&b->starter, b->parent);
}

/* The recorder has begun: writes one line of JSON to standard output, then connects 0, 1 and 2 to nothing. */
static void background_report(const char *tape, const struct marks_file *marks)
{
    struct buf line = {0};
    struct json j = {.out = &line};
    json_begin(&j, '{');
    json_key_u64(&j, "pid", (uint64_t)getpid());
    json_key_u64(&j, "start_ticks", own_start_ticks());
    json_key_text(&j, "tape", *tape ? tape : NULL);
    json_key_text(&j, "events", marks && *marks->path ? marks->path : NULL);
    json_end(&j, '}'); /* with a newline */
    if (!line.failed)
        fd_write_all(STDOUT_FILENO, line.at, line.len, NULL);
    buf_done(&line);
    fds_null_standard(-1);
}

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
    bool named = s->n_pids || s->cgroup || selects || select->file;
    if (s->all && (named || s->machine || select->under || !s->children))
        return cli_failf(cli, "--all and %s: one of them",
                         s->n_pids       ? "--pid"
                         : s->cgroup     ? "--cgroup"
                         : selects       ? "--match"
                         : select->file  ? "--tasks"
                         : select->under ? "--under"
                         : s->machine    ? "--host"
                                         : "--no-children");
    bool alone = s->machine && !s->n_pids && !s->cgroup && !selects && !select->file;
    if (!selects && (select->has_uid || (select->under && !alone) || select->children || select->on))
        return cli_failf(cli, "--user, --under, --children and --match-on go with --match, --task or --exact");
    if (!named && !s->machine && !s->all)
        return cli_failf(cli, "what is to be recorded? Give --pid N, --cgroup PATH, --match REGEX, --tasks FILE, --all "
                              "for all processes, or --host for the machine alone");
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
        snprintf(name, cap, s->all ? "machine" : "host");
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

/* Of all processes of a machine is not read, unless the user asks for it, what costs more than all the rest: memory
 * that is shared, descriptors, and each thread. */
static void record_thin(struct record_options *o)
{
    const unsigned costly = BARO_SOURCE_SMAPS | BARO_SOURCE_FD | BARO_SOURCE_SCHEDSTAT | BARO_SOURCE_TASKS;
    uint64_t standard = 0;
    metric_parse_list("default", &standard, NULL);
    if (!o->pace.interval_ns)
        o->pace.interval_ns = NS_PER_SEC;
    if (o->scope.wanted != standard)
        return;
    for (int i = 0; i < PROCESS_MAX; i++) {
        if (metric_source(BARO_KIND_PROCESS, i) & costly)
            o->scope.wanted &= ~(UINT64_C(1) << i);
    }
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
    options.attach.all = s->all;
    if (s->all)
        record_thin(&options);
    options.attach.host_alone = !s->n_pids && !s->cgroup && !options.attach.select && !s->all;
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
