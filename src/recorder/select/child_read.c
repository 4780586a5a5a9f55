/* SPDX-License-Identifier: Apache-2.0 */
/* The process that selects reads the command of a process once, and matches it for all jobs. */
#include <stdatomic.h>
#include <string.h>
#include <unistd.h>

#include "kernel/proc/procfs.h"
#include "recorder/select/child.h"

void child_find_own(struct child *c, int32_t recorder)
{
    struct pid_stat st;
    c->own[c->n_own++] = getpid();
    for (int32_t pid = recorder; pid > 1 && c->n_own < CHILD_ANCESTORS_MOST; pid = st.ppid) {
        c->own[c->n_own++] = pid;
        if (proc_read_stat(c->setup->proc_fd, pid, &st) < 0)
            return;
    }
}

/* Is it the recorder, an ancestor, or a helper, which is a child of the recorder? */
static bool is_own(const struct child *c, int32_t pid, int32_t ppid)
{
    for (size_t i = 0; i < c->n_own; i++) {
        if (c->own[i] == pid)
            return true;
    }
    return c->n_own > 1 && ppid == c->own[1];
}

static bool is_under(struct child *c, int32_t under, int32_t ppid)
{
    struct pid_stat st;
    for (int i = 0; under && i < CHILD_ANCESTORS_MOST; i++) {
        if (ppid == under)
            return true;
        if (ppid <= 1 || proc_read_stat(c->setup->proc_fd, ppid, &st) < 0)
            return false;
        ppid = st.ppid;
    }
    return !under;
}

static bool read_user(struct child *c, int32_t pid, uint32_t *ret)
{
    struct pid_status st;
    ssize_t n = proc_read_record(c->setup->proc_fd, pid, "status", c->exe, sizeof(c->exe));
    if (n <= 0 || pid_status_parse(span_of(c->exe, (size_t)n), &st) < 0 || !(st.valid & 1u << STATUS_UID))
        return false;
    *ret = (uint32_t)st.value[STATUS_UID];
    return true;
}

static void read_cmdline(struct child *c, int32_t pid, const char *comm)
{
    ssize_t n = proc_read(c->setup->proc_fd, pid, "cmdline", c->cmdline, COMMAND_MOST);
    size_t len = n > 0 ? (size_t)n : 0;
    command_script(c->cmdline, len, comm, c->script, sizeof(c->script));
    command_join(c->cmdline, len);
}

static void read_exe(struct child *c, int32_t pid)
{
    static const char deleted[] = " (deleted)";
    struct buf path = {0};
    c->exe[0] = 0;
    buf_printf(&path, "%d/exe", (int)pid);
    buf_byte(&path, 0);
    ssize_t n = path.failed ? -1 : readlinkat(c->setup->proc_fd, (const char *)path.at, c->exe, sizeof(c->exe) - 1);
    buf_done(&path);
    c->exe[n > 0 ? n : 0] = 0;
    size_t cut = sizeof(deleted) - 1, len = strlen(c->exe);
    if (len > cut && strcmp(c->exe + len - cut, deleted) == 0)
        c->exe[len - cut] = 0;
}

/* Is it baro itself, a recorder or a helper of another job, whose command lines contain that of the job? Example: `baro
 * run -- java Storm` has three processes of baro, and one of java. baro-serve and other programs that read tapes do not
 * count. If the link `exe` cannot be read, the name that baro gives its processes decides. */
static bool is_baro(struct child *c, int32_t pid, const char *comm)
{
    static const char *const names[] = {"baro",         "baro-recorder", "baro-helper", "baro-collect",
                                        "baro-watcher", "baro-select",   "baro-probe",  "baro-follower"};
    size_t i = 0, n = sizeof(names) / sizeof(*names);
    while (i < n && strcmp(comm, names[i]) != 0)
        i++;
    if (i == n)
        return false;
    read_exe(c, pid);
    return *c->exe ? strcmp(path_base_name(c->exe), "baro") == 0 : i > 0;
}

/* Gets the base name of the first argument, without the "-" of a login shell ("-bash"). */
static void name_of_argument(const struct child *c, char *to, size_t cap)
{
    size_t n = strcspn(c->cmdline, " ");
    n = n < cap ? n : cap - 1;
    memcpy(to, c->cmdline, n);
    to[n] = 0;
    const char *base = path_base_name(to);
    base += *base == '-';
    memmove(to, base, strlen(base) + 1);
}

/* Finds the tasks that the command fits, in all jobs that are wanted. */
static size_t match_jobs(struct child *c, const struct known_command *command, int32_t ppid)
{
    size_t n = 0;
    for (size_t i = 0; i < c->n_jobs; i++) {
        struct select_job *j = c->jobs[i];
        if (!watch_wants(&c->watch, &j->watch))
            continue;
        unsigned task = rules_match(&j->rules, command);
        if (task && is_under(c, j->watch.under, ppid))
            c->fits[n++] = (struct watch_fit){&j->watch, (uint8_t)task};
    }
    return n;
}

/* Reads the command of a process once, and matches it for all jobs. */
static size_t match_process(struct child *c, int32_t pid, const struct pid_stat *st)
{
    char argv_name[256], comm[64];
    memcpy(comm, st->comm, sizeof(st->comm) < sizeof(comm) ? sizeof(st->comm) : sizeof(comm));
    comm[sizeof(comm) - 1] = 0;
    uint32_t uid = 0;
    bool has_uid = c->needs_user && read_user(c, pid, &uid);
    c->cmdline[0] = c->exe[0] = c->script[0] = 0;
    if (c->needs_cmdline)
        read_cmdline(c, pid, comm);
    if (c->needs_exe)
        read_exe(c, pid);
    name_of_argument(c, argv_name, sizeof(argv_name));
    const struct known_command command = {c->cmdline, c->exe,  comm, path_base_name(c->exe),
                                          argv_name,  has_uid, uid,  c->script};
    return match_jobs(c, &command, st->ppid);
}

/* Tells the recorder which process is being read, and since when. */
void select_progress(struct select_shared *shared, int32_t pid, uint64_t start, bool begins)
{
    atomic_store(&shared->pid, pid);
    atomic_store(&shared->start, start);
    if (begins)
        worker_progress(&shared->worker);
    else
        worker_idle(&shared->worker);
}

bool child_is_barred(const struct select_child *of, int32_t pid, uint64_t start)
{
    for (size_t i = 0; i < of->n_barred; i++) {
        if (of->barred[i].pid == pid && of->barred[i].start == start)
            return true;
    }
    return false;
}

bool child_read_process(void *context, int32_t pid, struct watch_reading *ret)
{
    struct child *c = context;
    struct pid_stat st;
    if (proc_read_stat(c->setup->proc_fd, pid, &st) < 0)
        return false;
    *ret = (struct watch_reading){.ppid = st.ppid, .start = st.starttime};
    if ((st.flags & PROC_PF_KTHREAD) || is_own(c, pid, st.ppid))
        return true;
    if (st.state == 'Z')
        return false;
    if (is_baro(c, pid, st.comm))
        return true;
    if (!c->watch.n_with_rules || child_is_barred(c->of, pid, st.starttime))
        return true;
    select_progress(c->of->shared, pid, st.starttime, true);
    ret->n_fits = match_process(c, pid, &st);
    ret->fits = c->fits;
    select_progress(c->of->shared, pid, 0, false);
    return true;
}
