/* SPDX-License-Identifier: Apache-2.0 */
/* Which sources of processes this user may read: of own processes and of another user's. */
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/clock.h"
#include "base/fd.h"
#include "kernel/proc/procfs.h"
#include "libbaro/metric/ids.h"
#include "programs/baro/doctor.h"

#define PTRACE_GRANT "CAP_SYS_PTRACE (root, or setcap cap_sys_ptrace+ep on baro), or being that user"

#define FILES_MOST 16u

/* A file of a process, or a system call, and the metrics that come from it. */
struct source {
    const char *name; /* "stat" of /proc/PID/stat or /proc/PID/task/TID/stat */
    uint64_t source;  /* enum baro_source; 0: no metric comes from it */
    int since;        /* as returned by baro_metric_since() */
    char gives[256];
};

struct sources {
    struct source at[FILES_MOST];
    size_t n;
};

static struct source *source_named(struct sources *all, const char *name)
{
    for (size_t i = 0; i < all->n; i++) {
        if (strcmp(all->at[i].name, name) == 0)
            return &all->at[i];
    }
    if (all->n == FILES_MOST)
        return NULL;
    all->at[all->n] = (struct source){.name = name};
    return &all->at[all->n++];
}

static void add_text(struct source *s, const char *text)
{
    size_t len = strlen(s->gives);
    snprintf(s->gives + len, sizeof(s->gives) - len, "%s%s", len ? ", " : "", text);
}

/* Where the metrics of processes are read, from the registry. What barograph itself knows has no file. */
static void sources_find(struct sources *ret)
{
    *ret = (struct sources){0};
    for (int id = 0; id < PROCESS_MAX; id++) {
        const struct baro_metric *m = baro_metric_get(BARO_KIND_PROCESS, id);
        bool is_file = strncmp(m->file, "/proc/PID/", 10) == 0;
        struct source *s = is_file                         ? source_named(ret, strrchr(m->file, '/') + 1)
                           : m->source & BARO_SOURCE_CLOCK ? source_named(ret, "clock")
                                                           : NULL;
        if (!s)
            continue;
        s->source |= m->source;
        s->since = baro_metric_since(BARO_KIND_PROCESS, id);
        add_text(s, m->stem);
    }
    struct source *cmdline = source_named(ret, "cmdline");
    if (cmdline)
        add_text(cmdline, "command lines");
}

/* Returns 0 or -errno. */
static int try_source(int proc, int32_t pid, const struct source *s)
{
    static const size_t cap = 65536;
    uint64_t ns;
    if (s->source & BARO_SOURCE_CLOCK)
        return clock_process_cpu_ns(pid, &ns);
    if (s->source & BARO_SOURCE_FD) {
        int64_t fds = proc_count_fds(proc, pid);
        return fds < 0 ? (int)fds : 0;
    }
    char *text = malloc(cap);
    ssize_t n = text ? proc_read(proc, pid, s->name, text, cap) : -ENOMEM;
    free(text);
    return n < 0 ? (int)n : 0;
}

static void own_files(struct findings *f, int proc, const struct sources *all)
{
    for (size_t i = 0; i < all->n; i++) {
        const struct source *s = &all->at[i];
        int code = try_source(proc, (int32_t)getpid(), s);
        if (code == 0) {
            findings_add(f, "own processes", s->name, FOUND_YES, "%s", s->gives);
            continue;
        }
        struct doctor_finding *one =
            findings_add(f, "own processes", s->name, FOUND_NO, "%s: %s", s->gives, strerror(-code));
        if (code == -ENOENT && s->source & BARO_SOURCE_SMAPS)
            finding_grant(one, "a kernel of %d.%d or later, with CONFIG_PROC_PAGE_MONITOR", s->since / 1000,
                          s->since % 1000);
        else if (code == -ENOENT && s->source & BARO_SOURCE_IO)
            finding_grant(one, "a kernel with CONFIG_TASK_IO_ACCOUNTING");
        else if (code == -ENOENT)
            finding_grant(one, "a kernel that has this file");
    }
}

struct search {
    int proc;
    uint32_t self;
    int32_t found;
    uint32_t uid;
    unsigned seen;
    char text[8192];
};

/* Finds a process of another user that has memory: a kernel thread would prove nothing. */
static bool look(void *context, int32_t pid)
{
    struct search *s = context;
    struct pid_status st;
    ssize_t n = proc_read(s->proc, pid, "status", s->text, sizeof(s->text));
    if (n <= 0 || pid_status_parse(span_of(s->text, (size_t)n), &st) != 0)
        return true;
    s->seen++;
    if (!(st.valid & 1u << STATUS_UID) || !(st.valid & 1u << STATUS_VM_RSS) || st.value[STATUS_UID] == s->self)
        return true;
    s->found = pid;
    s->uid = (uint32_t)st.value[STATUS_UID];
    return false;
}

static void others_files(struct findings *f, int proc, const struct sources *all, const struct search *s)
{
    struct buf have = {0}, lack = {0};
    for (size_t i = 0; i < all->n; i++) {
        struct buf *to = try_source(proc, s->found, &all->at[i]) == 0 ? &have : &lack;
        buf_str(to, to->len ? ", " : "");
        buf_str(to, all->at[i].name);
    }
    if (!lack.len) {
        findings_add(f, "other users", "files", FOUND_YES, "all of them, tried on process %d of user %u", s->found,
                     s->uid);
    } else {
        buf_byte(&have, 0);
        buf_byte(&lack, 0);
        struct doctor_finding *one = findings_add(
            f, "other users", "files", FOUND_PARTLY, "%s; not %s (process %d of user %u)",
            have.failed ? "" : (const char *)have.at, lack.failed ? "" : (const char *)lack.at, s->found, s->uid);
        finding_grant(one, PTRACE_GRANT);
    }
    buf_done(&have);
    buf_done(&lack);
}

/* hidepid is a mount option: since 5.8 each mount of proc has its own. */
static bool hidden(char *ret, size_t cap)
{
    char text[32768];
    ssize_t n = fd_read_file(AT_FDCWD, "/proc/self/mountinfo", text, sizeof(text));
    struct span rest = span_of(text, n > 0 ? (size_t)n : 0), line;
    while (scan_line(&rest, &line)) {
        const char *at = memmem(line.at, line.len, "hidepid=", 8);
        if (!at || !memmem(line.at, line.len, " - proc ", 8))
            continue;
        size_t len = 0, room = (size_t)(line.at + line.len - at);
        while (len < room && len + 1 < cap && at[len] != ',' && at[len] != ' ')
            len++;
        memcpy(ret, at, len);
        ret[len] = 0;
        return strcmp(ret, "hidepid=0") != 0 && strcmp(ret, "hidepid=off") != 0;
    }
    return false;
}

void doctor_processes(struct findings *f)
{
    struct search s = {.self = getuid()};
    struct sources all;
    char option[32];
    int proc CLEANUP(fd_closep) = open("/proc", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    if (proc < 0) {
        finding_grant(
            findings_add(f, "own processes", "/proc", FOUND_NO, "nothing can be recorded: %s", strerror(errno)),
            "mount -t proc proc /proc");
        return;
    }
    sources_find(&all);
    own_files(f, proc, &all);
    s.proc = proc;
    proc_each_process(proc, look, &s);
    if (hidden(option, sizeof(option)))
        finding_grant(findings_add(f, "other users", "hidepid", FOUND_PARTLY,
                                   "/proc is mounted with %s, which hides others' processes", option),
                      "the group of gid=, or mount -o remount,hidepid=0 /proc");
    if (s.found)
        others_files(f, proc, &all, &s);
    else
        findings_add(f, "other users", "files", FOUND_FACT, "no process of another user is to be seen among %u",
                     s.seen);
}
