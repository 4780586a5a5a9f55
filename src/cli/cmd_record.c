/* SPDX-License-Identifier: Apache-2.0 */
/* baro record: attach to what runs, processes or a control group, or record the machine alone. */
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
#include "cli/recording.h"
#include "procfs/procfs.h"
#include "run/marks_file.h"
#include "select/select.h"

/* The name that the tape of this recording gets: that of the first target. */
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

/* What is to be recorded, and what its tape is called. */
static int target_of(struct cli *cli, const struct record_settings *s, char *name, size_t cap)
{
    bool selects = s->select.n_rules > 0;
    if (!selects && (s->select.has_uid || s->select.under || s->select.children || s->select.on))
        return cli_failf(cli, "--user, --under, --children and --match-on go with --match, --name or --exact");
    if (!s->n_pids && !s->cgroup && !s->machine && !selects)
        return cli_failf(cli, "what is to be recorded? Give --pid N, --cgroup PATH, --match REGEX, or --host for the "
                              "machine alone");
    if (selects && (s->n_pids || s->cgroup))
        return cli_failf(cli, "--match and %s: one of them (--under PID matches below a process)",
                         s->n_pids ? "--pid" : "--cgroup");
    if (s->n_pids && s->cgroup)
        return cli_failf(cli, "--pid and --cgroup: one of them");
    if (s->machine && !s->host)
        return cli_failf(cli, "--host and --no-host: one of them");
    fd_hold_standard();
    if (selects)
        snprintf(name, cap, "tasks");
    else if (s->cgroup)
        group_name(s->cgroup, name, cap);
    else if (s->n_pids)
        target_name(s->pids[0], name, cap);
    else
        snprintf(name, cap, "host");
    return 0;
}

/* The file of --events, which is not ours: it stays. Opened without waiting, as it could be a FIFO. */
static int open_events(const char *path, struct marks_file *ret, struct baro_error *err)
{
    char absolute[PATH_MAX];
    struct stat st;
    *ret = (struct marks_file){.fd = open(path, O_RDONLY | O_CREAT | O_CLOEXEC | O_NONBLOCK | O_NOCTTY, 0666)};
    if (ret->fd < 0 || fstat(ret->fd, &st) < 0 || !realpath(path, absolute))
        return error_set(err, -errno, "can't open %s: %s", path, strerror(errno));
    if (!S_ISREG(st.st_mode))
        return error_set(err, -EINVAL, "%s is not a regular file", path);
    if (snprintf(ret->path, sizeof(ret->path), "%s", absolute) >= (int)sizeof(ret->path))
        return error_set(err, -ENAMETOOLONG, "the path of %s is longer than %zu bytes", path, sizeof(ret->path) - 1);
    return 0;
}

static int make_rules(const struct select_settings *s, struct rules *ret, struct baro_error *err)
{
    char name[TASK_NAME_MOST + 1];
    int code = 0;
    ret->on = (enum match_on)s->on;
    for (int i = 0; i < s->n_rules && code == 0; i++) {
        const struct rule_setting *rule = &s->rules[i];
        snprintf(name, sizeof(name), "%.*s", rule->name_len, rule->name ? rule->name : "");
        const struct rule_request request = {rule->name ? name : NULL, rule->text, rule->is_name};
        code = rules_add(ret, &request, err);
    }
    return code;
}

int cmd_record(struct cli *cli, const struct settings *s, char **argv)
{
    struct recording recording;
    struct record_options options;
    struct record_end end;
    struct marks_file marks = {.fd = -1};
    struct baro_error err = BARO_ERROR_INIT;
    char name[64];
    (void)argv;
    int code = target_of(cli, &s->record, name, sizeof(name));
    if (code)
        return code;
    struct rules rules = {0};
    if (make_rules(&s->record.select, &rules, &err) < 0) {
        rules_done(&rules);
        return cli_fail(cli, &err);
    }
    const struct select_options selection = {.rules = &rules, .children = s->record.select.children,
                                          .has_uid = s->record.select.has_uid, .uid = s->record.select.uid,
                                          .under = s->record.select.under};
    if (s->record.events && open_events(s->record.events, &marks, &err) < 0)
        return cli_fail(cli, &err);
    if (recording_open(&recording, cli, &s->record, name, &err) < 0)
        return cli_fail(cli, &err);
    recording_options(&recording, &options);
    options.marks = &marks;
    options.targets = s->record.pids;
    options.n_targets = (size_t)s->record.n_pids;
    options.cgroup = s->record.cgroup;
    options.select = rules.n ? &selection : NULL;
    options.host_alone = !s->record.n_pids && !s->record.cgroup && !rules.n;
    options.no_events |= options.host_alone; /* there are no processes whose ends matter */
    code = record_attach(&options, &end, &err);
    if (code < 0) {
        recording_discard(&recording);
        recording_done(&recording);
        return cli_fail(cli, &err);
    }
    recording_tidy(&recording);
    recording_done(&recording);
    return 0;
}
