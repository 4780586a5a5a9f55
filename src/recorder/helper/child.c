/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The helper process. It is a fork of the recorder and shares its pages, so it writes to few of them: one stack frame,
 * and one buffer for command lines, which is freed after a long one was read. It closes all descriptors of the recorder
 * but the socket and those of /proc and /sys: if it hangs, it keeps no tape, pipe or lock open.
 */
#include <errno.h>
#include <fcntl.h>
#include <malloc.h>
#include <stdio.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/socket.h>
#include <unistd.h>

#include "base/buf.h"
#include "base/clock.h"
#include "base/fd.h"
#include "base/span.h"
#include "kernel/proc/procfs.h"
#include "recorder/helper/wire.h"
#include "recorder/redact/redact.h"

#define CMDLINE_READ (256u << 10)
#define CMDLINE_KEEP (16u << 10)
#define FLUSH_AFTER (4 * NS_PER_MS) /* replies wait at most this long for further ones */
#define COMM_CUT 15u                /* TASK_COMM_LEN less its NUL: a name of this length may be truncated */

struct child {
    int socket_fd, root_fd;
    bool want_cmdline;
    struct helper_progress *progress;
    struct helper_host host;
    char *cmdline; /* CMDLINE_READ bytes */
    struct buf raw_name, name, command;
    uint64_t first_ns; /* when the oldest reply in out was made */
    size_t out_len;
    _Alignas(8) unsigned char out[HELPER_PACKET_BYTES];
};

/* ---- one process ---- */

static void mark(const struct child *c, uint64_t serial)
{
    atomic_store(&c->progress->serial, serial);
    worker_progress(&c->progress->worker);
}

/* If the first thread of a process has exited, its directory has no memory: takes that of another thread. */
static int take_thread(const struct child *c, int dir, int32_t pid, struct pid_stat *st)
{
    char path[32];
    struct pid_stat thread;
    int32_t tid = proc_living_thread(c->root_fd, pid, 0, &thread);
    snprintf(path, sizeof(path), "task/%d", tid);
    int of_thread = tid ? openat(dir, path, O_PATH | O_DIRECTORY | O_CLOEXEC) : -1;
    if (of_thread < 0)
        return dir;
    fd_close(dir);
    st->state = thread.state;
    return of_thread;
}

/* Opens the directory of a process and checks that it is the requested process: files opened below a held directory
 * never belong to a later owner of the pid. Returns a descriptor or -errno. */
static int open_process(const struct child *c, struct baro_key key, struct pid_stat *ret)
{
    char text[2048], path[16];
    snprintf(path, sizeof(path), "%d", key.pid);
    int dir = openat(c->root_fd, path, O_PATH | O_DIRECTORY | O_CLOEXEC);
    if (dir < 0)
        return -errno;
    ssize_t n = fd_read_record(dir, "stat", text, sizeof(text));
    int code = n < 0 ? (int)n : pid_stat_parse(span_of(text, (size_t)n), ret) == 0 ? 0 : -ESRCH;
    if (code == 0 && key.start && ret->starttime != key.start)
        code = -ESRCH;
    if (code == 0)
        return ret->state == 'Z' && ret->num_threads > 1 ? take_thread(c, dir, key.pid, ret) : dir;
    fd_close(dir);
    return code;
}

/* Zombies and kernel threads have no memory to read. */
static uint8_t absent_by_kind(const struct pid_stat *st)
{
    if (st->state == 'Z' || st->state == 'X' || st->state == 'x')
        return BARO_ABSENT_GONE;
    return st->flags & PROC_PF_KTHREAD ? BARO_ABSENT_UNSUPPORTED : BARO_PRESENT;
}

static void read_smaps(int dir, const struct pid_stat *st, struct helper_wire_reply *w)
{
    char text[2048];
    struct pid_smaps smaps;
    w->smaps_absent = absent_by_kind(st);
    if (w->smaps_absent)
        return;
    uint64_t begin = clock_monotonic_ns();
    ssize_t n = fd_read_record(dir, "smaps_rollup", text, sizeof(text));
    w->spent_ns = clock_monotonic_ns() - begin;
    if (n == -ENOENT) /* the process exists, because its stat was read: the kernel has no such file
                         (CONFIG_PROC_PAGE_MONITOR) */
        w->smaps_absent = faccessat(dir, "stat", F_OK, 0) == 0 ? BARO_ABSENT_UNSUPPORTED : BARO_ABSENT_GONE;
    else if (n < 0)
        w->smaps_absent = (uint8_t)proc_absent((int)-n);
    else if (pid_smaps_parse(span_of(text, (size_t)n), &smaps) < 0)
        w->smaps_absent = n == 0 ? BARO_ABSENT_GONE : BARO_ABSENT_UNKNOWN;
    else if (!(smaps.valid & 1u << SMAPS_PSS) || !(smaps.valid & 1u << SMAPS_USS))
        w->smaps_absent = BARO_ABSENT_UNSUPPORTED;
    if (w->smaps_absent)
        return;
    w->pss = smaps.value[SMAPS_PSS];
    w->uss = smaps.value[SMAPS_USS];
    bool has_parts = (smaps.valid & 1u << SMAPS_PSS_ANON) && (smaps.valid & 1u << SMAPS_PSS_SHMEM);
    w->pss_parts_absent = has_parts ? BARO_PRESENT : BARO_ABSENT_UNSUPPORTED;
    w->pss_anon = has_parts ? smaps.value[SMAPS_PSS_ANON] : 0;
    w->pss_shmem = has_parts ? smaps.value[SMAPS_PSS_SHMEM] : 0;
}

static uint8_t make_cmdline(struct child *c, const struct pid_stat *st, ssize_t n)
{
    uint8_t absent = absent_by_kind(st);
    if (!c->want_cmdline)
        return BARO_ABSENT_NOT_ASKED;
    if (absent)
        return absent;
    if (n < 0)
        return (uint8_t)proc_absent((int)-n);
    if (n == 0)
        return BARO_ABSENT_UNKNOWN; /* the process has no arguments (argc 0), has overwritten them, or is about to end
                                     */
    pid_cmdline_format(span_of(c->cmdline, (size_t)n), HELPER_CMDLINE_MAX, &c->command);
    return c->command.failed || c->command.len > HELPER_CMDLINE_MAX ? BARO_ABSENT_UNKNOWN : BARO_PRESENT;
}

static void read_info(struct child *c, int dir, const struct pid_stat *st, struct helper_wire_reply *w)
{
    char exe[1024];
    struct span comm = span_str(st->comm);
    bool cut = comm.len >= COMM_CUT && !absent_by_kind(st);
    ssize_t n = 0, linked = 0;
    if ((cut || c->want_cmdline) && !absent_by_kind(st))
        n = fd_read_file(dir, "cmdline", c->cmdline, CMDLINE_READ);
    if (cut)
        linked = readlinkat(dir, "exe", exe,
                            sizeof(exe)); /* fails for processes of other users: their names are taken from cmdline */
    pid_name(comm, span_of(exe, linked > 0 ? (size_t)linked : 0), span_of(c->cmdline, n > 0 ? (size_t)n : 0),
             &c->raw_name);
    redact_name(span_of(c->raw_name.at, c->raw_name.len), &c->name);
    c->name.failed = c->name.failed || c->raw_name.failed;
    w->name_absent = c->name.failed || c->name.len >= HELPER_NAME_MAX ? BARO_ABSENT_UNKNOWN : BARO_PRESENT;
    w->cmdline_absent = make_cmdline(c, st, n);
    if (n > (ssize_t)CMDLINE_KEEP)
        madvise(c->cmdline + CMDLINE_KEEP, CMDLINE_READ - CMDLINE_KEEP, MADV_DONTNEED);
}

static void clear_buffer(struct buf *b)
{
    buf_clear(b);
    b->failed = false;
}

/* ---- requests and replies ---- */

static void flush_replies(struct child *c)
{
    ssize_t n;
    unsigned tries = 0;
    if (!c->out_len)
        return;
    do
        n = send(c->socket_fd, c->out, c->out_len, MSG_NOSIGNAL);
    while (n < 0 && fd_again(&tries));
    if (n < 0)
        _exit(0);
    c->out_len = 0;
}

static void put_text(struct child *c, const struct buf *text)
{
    memcpy(c->out + c->out_len, text->at, text->len);
    c->out[c->out_len + text->len] = 0;
    c->out_len += text->len + 1;
}

static void put_reply(struct child *c, struct helper_wire_reply *w)
{
    uint64_t now = clock_monotonic_ns();
    if (!c->out_len)
        c->first_ns = now;
    w->name_len = w->name_absent || !c->name.len ? 0 : (uint32_t)c->name.len + 1;
    w->cmdline_len = w->cmdline_absent || !c->command.len ? 0 : (uint32_t)c->command.len + 1;
    memcpy(c->out + c->out_len, w, sizeof(*w));
    c->out_len += sizeof(*w);
    if (w->name_len)
        put_text(c, &c->name);
    if (w->cmdline_len)
        put_text(c, &c->command);
    while (c->out_len % 8)
        c->out[c->out_len++] = 0;
    if (c->out_len + HELPER_REPLY_MOST > sizeof(c->out) || now - c->first_ns > FLUSH_AFTER)
        flush_replies(c);
}

static void serve_host(struct child *c, const struct helper_wire_request *r, const char *path,
                       struct helper_wire_reply *w)
{
    uint64_t begin = clock_monotonic_ns();
    mark(c, r->serial);
    struct span data = helper_host_serve(&c->host, r, path, w);
    worker_idle(&c->progress->worker);
    w->spent_ns = clock_monotonic_ns() - begin;
    w->cmdline_absent = data.len ? BARO_PRESENT : BARO_ABSENT_NOT_ASKED;
    buf_add(&c->command, data.at, data.len);
    if (c->command.failed)
        w->host_absent = w->cmdline_absent = BARO_ABSENT_UNKNOWN;
    madvise(c->cmdline + CMDLINE_KEEP, CMDLINE_READ - CMDLINE_KEEP, MADV_DONTNEED);
}

static void serve_process(struct child *c, const struct helper_wire_request *r, struct helper_wire_reply *w)
{
    struct pid_stat st;
    mark(c, r->serial);
    int dir = open_process(c, r->key, &st);
    if (dir < 0) {
        uint8_t why = (uint8_t)proc_absent(-dir);
        if (r->what & HELPER_SMAPS)
            w->smaps_absent = why;
        if (r->what & HELPER_INFO)
            w->name_absent = w->cmdline_absent = why;
    } else {
        if (r->what & HELPER_SMAPS)
            read_smaps(dir, &st, w);
        mark(c, r->serial);
        if (r->what & HELPER_INFO)
            read_info(c, dir, &st, w);
        fd_close(dir);
    }
    worker_idle(&c->progress->worker);
}

/* Takes one request off the packet and answers it. */
static bool serve(struct child *c, const unsigned char **at, size_t *len)
{
    struct helper_wire_request r;
    if (*len < sizeof(r))
        return false;
    memcpy(&r, *at, sizeof(r));
    const char *path = (const char *)*at + sizeof(r);
    size_t padded = ((size_t)r.path_len + 7) & ~(size_t)7;
    if (padded > *len - sizeof(r) || (r.path_len && path[r.path_len - 1]))
        return false;
    struct helper_wire_reply w = {.serial = r.serial};
    w.smaps_absent = w.name_absent = w.cmdline_absent = w.host_absent = BARO_ABSENT_NOT_ASKED;
    clear_buffer(&c->raw_name);
    clear_buffer(&c->name);
    clear_buffer(&c->command);
    if (r.what & (HELPER_FS | HELPER_SENSOR | HELPER_FREQUENCY | HELPER_FILE))
        serve_host(c, &r, r.path_len ? path : "", &w);
    else
        serve_process(c, &r, &w);
    put_reply(c, &w);
    *at += sizeof(r) + padded;
    *len -= sizeof(r) + padded;
    return true;
}

static void serve_requests(struct child *c)
{
    _Alignas(8) unsigned char in[HELPER_REQUESTS_BYTES];
    unsigned tries = 0;
    for (unsigned long batches = 0;; batches++) {
        if (batches == 1)
            malloc_trim(0); /* the first requests were for all processes that existed; most later batches are small */
        ssize_t n = recv(c->socket_fd, in, sizeof(in), 0);
        if (n < 0 && fd_again(&tries))
            continue;
        if (n <= 0)
            return;
        tries = 0;
        const unsigned char *at = in;
        size_t len = (size_t)n;
        while (serve(c, &at, &len))
            continue;
        flush_replies(c);
    }
}

void helper_live(const struct worker_child *w)
{
    const struct helper_setup *o = w->context;
    struct child c = {
        .socket_fd = w->fd, .root_fd = o->kept[0], .want_cmdline = o->want_cmdline, .progress = w->shared};
    struct helper_frequency frequencies[HELPER_FREQUENCIES];
    void *at = mmap(NULL, CMDLINE_READ, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
    if (at == MAP_FAILED)
        return;
    c.cmdline = at;
    c.host = (struct helper_host){o->kept[0], o->kept[1], at, CMDLINE_READ, frequencies};
    serve_requests(&c);
}
