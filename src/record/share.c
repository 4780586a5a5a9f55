/* SPDX-License-Identifier: Apache-2.0 */
/* The observer's side of a shared event source: its socket, the recorders that use it, and their requests. */
#include "record/share.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/un.h>
#include <unistd.h>

#include "base/fd.h"
#include "procfs/procfs.h"
#include "record/share_state.h"

#define BACKLOG 1024
#define EVENTS_AT_ONCE 64
#define REQUESTS_AT_ONCE 16u
#define WINDOW (100 * NS_PER_MS)
#define REQUESTS_OF_WINDOW 512u /* a recorder asks before each sample, and when the wrapper has reaped */

/* ---- the processes of a recorder ---- */

void share_forget(struct share *s, struct share_client *c, struct share_entry *e)
{
    c->n_entries--;
    share_table_remove(&s->table, e, &c->entries);
}

void share_forget_all(struct share *s, struct share_client *c)
{
    while (c->entries)
        share_forget(s, c, c->entries);
}

/* CLOCK_MONOTONIC, from ticks of CLOCK_BOOTTIME. */
static uint64_t began_ns(uint64_t start)
{
    uint64_t tick = NS_PER_SEC / (uint64_t)sysconf(_SC_CLK_TCK), monotonic = clock_monotonic_ns();
    uint64_t slept = clock_boottime_ns() - monotonic;
    return start * tick > slept ? start * tick - slept : 0;
}

/* Returns 0, -ESRCH if the process has gone, or -EPERM if it is not the user's. The pid that connected may be another
 * process by now: the socket can be handed on to one that asks after the first one has ended. */
static int may_follow(const struct share *s, const struct share_client *c, const struct exits_pid *p)
{
    struct stat owner;
    char name[16];
    if (!p->start || proc_read_start(s->proc_fd, p->pid) != p->start)
        return -ESRCH;
    snprintf(name, sizeof(name), "%d", (int)p->pid);
    return c->uid && (fstatat(s->proc_fd, name, &owner, 0) < 0 || owner.st_uid != c->uid) ? -EPERM : 0;
}

static void follow(struct share *s, struct share_client *c, struct exits_pid p)
{
    bool self = p.pid == 0;
    p = self ? (struct exits_pid){c->pid, c->start} : p;
    int code = may_follow(s, c, &p);
    c->refused += code == -EPERM || (code < 0 && self); /* what it forked can't be found any more */
    if (code < 0)
        return;
    share_forget_older(s, p.pid, began_ns(p.start));
    if (share_table_find(&s->table, p.pid, c))
        return;
    share_table_make_room(&s->table);
    if (c->n_entries >= SHARE_PIDS_OF_CLIENT || s->table.n >= SHARE_PIDS_IN_ALL ||
        !share_table_add(&s->table, p.pid, began_ns(p.start), c, &c->entries))
        c->over = true;
    else
        c->n_entries++;
}

/* ---- requests ---- */

static bool is_flood(struct share_client *c)
{
    uint64_t now = clock_monotonic_ns();
    if (now > c->window_ns + WINDOW) {
        c->window_ns = now;
        c->requests = 0;
    }
    return ++c->requests > REQUESTS_OF_WINDOW;
}

static void on_request(struct share *s, struct share_client *c, struct span message, bool first)
{
    struct share_head h;
    struct exits_pid p;
    if (is_flood(c) || !share_head_decode(&message, &h) || h.kind != SHARE_FOLLOW || !h.number) {
        c->over = true;
        return;
    }
    c->asked = h.number;
    for (uint32_t i = 0; i < h.count && share_pid_decode(&message, &p); i++)
        follow(s, c, p);
    if (first) /* it learns at once that there is an observer */
        share_reply(s, c);
}

static void read_client(struct share *s, struct share_client *c)
{
    unsigned char text[SHARE_HEAD + SHARE_PID * SHARE_PIDS_MOST];
    for (unsigned i = 0; i < REQUESTS_AT_ONCE && !c->over; i++) {
        ssize_t n = recv(c->fd, text, sizeof(text), MSG_DONTWAIT);
        if (n < 0 && (errno == EAGAIN || errno == EINTR))
            return;
        if (n <= 0)
            c->over = true;
        else
            on_request(s, c, span_of(text, (size_t)n), !c->window_ns);
    }
}

/* ---- recorders come and go ---- */

static bool is_same_namespace(const struct share *s, int32_t pid, const char *which)
{
    struct stat own, its;
    char name[48];
    snprintf(name, sizeof(name), "self/ns/%s", which);
    if (fstatat(s->proc_fd, name, &own, 0) < 0)
        return true; /* before 5.6 there are none of time */
    snprintf(name, sizeof(name), "%d/ns/%s", (int)pid, which);
    return fstatat(s->proc_fd, name, &its, 0) == 0 && own.st_ino == its.st_ino;
}

/* The pids of another PID namespace are other processes; those of another time namespace have other start times. */
static bool has_our_numbers(const struct share *s, int32_t pid)
{
    return is_same_namespace(s, pid, "pid") && is_same_namespace(s, pid, "time");
}

static bool has_room(const struct share *s, uint32_t uid)
{
    size_t of_user = 0;
    for (size_t i = 0; i < s->n; i++)
        of_user += s->at[i]->uid == uid;
    return s->n < SHARE_CLIENTS_MOST && (uid == 0 || of_user < SHARE_CLIENTS_OF_USER);
}

static void add_client(struct share *s, int fd)
{
    struct ucred peer;
    socklen_t len = sizeof(peer);
    struct share_client *c = NULL;
    if (getsockopt(fd, SOL_SOCKET, SO_PEERCRED, &peer, &len) == 0 && peer.pid > 0 && has_room(s, peer.uid) &&
        has_our_numbers(s, peer.pid))
        c = calloc(1, sizeof(*c));
    if (!c) {
        fd_close(fd);
        return;
    }
    *c = (struct share_client){.fd = fd, .uid = peer.uid, .pid = peer.pid};
    c->start = proc_read_start(s->proc_fd, peer.pid);
    struct epoll_event e = {.events = EPOLLIN, .data.ptr = c};
    if (epoll_ctl(s->epoll_fd, EPOLL_CTL_ADD, fd, &e) < 0) {
        fd_close(fd);
        free(c);
        return;
    }
    s->at[s->n++] = c;
    read_client(s, c);
}

static void drop_client(struct share *s, size_t i)
{
    struct share_client *c = s->at[i];
    share_forget_all(s, c);
    epoll_ctl(s->epoll_fd, EPOLL_CTL_DEL, c->fd, NULL); /* a helper process may have the descriptor as well */
    shutdown(c->fd, SHUT_RDWR);
    fd_close(c->fd);
    free(c->usage.at);
    free(c->forks.at);
    free(c);
    s->at[i] = s->at[--s->n];
}

void share_drop(struct share *s)
{
    for (size_t i = s->n; i-- > 0;) {
        if (s->at[i]->over)
            drop_client(s, i);
    }
}

/* All that had connected until now: the kernel queues BACKLOG and one of them. */
static void accept_all(struct share *s)
{
    int fd;
    for (unsigned i = 0; i <= BACKLOG; i++) {
        fd = accept4(s->listen_fd, NULL, NULL, SOCK_CLOEXEC | SOCK_NONBLOCK);
        if (fd < 0)
            return;
        add_client(s, fd);
    }
}

bool share_read(struct share *s)
{
    struct epoll_event e[EVENTS_AT_ONCE];
    bool asked = false;
    int n = EVENTS_AT_ONCE;
    if (!s)
        return false;
    s->read_ns = clock_monotonic_ns();
    /* Each client is read once, also where some send faster than they are read. */
    for (size_t left = s->n / EVENTS_AT_ONCE + 1; left > 0 && n == EVENTS_AT_ONCE; left--) {
        n = epoll_wait(s->epoll_fd, e, EVENTS_AT_ONCE, 0);
        for (int i = 0; i < n; i++) {
            if (e[i].data.ptr)
                read_client(s, e[i].data.ptr);
            else
                accept_all(s);
        }
        share_drop(s); /* else epoll_wait() would return them again */
    }
    for (size_t i = 0; i < s->n; i++)
        asked |= s->at[i]->asked != 0;
    return asked;
}

/* ---- the socket ---- */

/* The folder has to be root's alone: who can write to it could take the place of the socket. */
static int make_folder(const char *path)
{
    char dir[108];
    struct stat st;
    const char *slash = strrchr(path, '/');
    if (!slash || slash == path)
        return slash ? 0 : -EINVAL;
    snprintf(dir, sizeof(dir), "%.*s", (int)(slash - path), path);
    if (mkdir(dir, 0755) == 0 && chmod(dir, 0755) < 0)
        return -errno;
    if (stat(dir, &st) < 0)
        return -errno;
    return S_ISDIR(st.st_mode) && st.st_uid == geteuid() && !(st.st_mode & 022) ? 0 : -EPERM;
}

static bool is_used(const struct sockaddr_un *a)
{
    int fd = socket(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
    bool used = fd >= 0 && (connect(fd, (const struct sockaddr *)a, sizeof(*a)) == 0 || errno == EAGAIN);
    fd_close(fd);
    return used;
}

/* Bound under another name and renamed, so that what is there is a socket that listens, or one that nobody has. */
static int listen_at(struct share *s, const char *path)
{
    struct sockaddr_un a = {.sun_family = AF_UNIX}, own = a;
    struct stat st;
    int n = snprintf(own.sun_path, sizeof(own.sun_path), "%s.%d", path, (int)getpid());
    if (!*path || n >= (int)sizeof(own.sun_path))
        return -EINVAL;
    memcpy(a.sun_path, path, strlen(path) + 1);
    int code = make_folder(path);
    if (code < 0)
        return code;
    if (is_used(&a))
        return -EADDRINUSE;
    s->listen_fd = socket(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
    unlink(own.sun_path);
    if (s->listen_fd < 0 || bind(s->listen_fd, (const struct sockaddr *)&own, sizeof(own)) < 0)
        return -errno;
    if (chmod(own.sun_path, 0666) < 0 || listen(s->listen_fd, BACKLOG) < 0 || stat(own.sun_path, &st) < 0 ||
        rename(own.sun_path, path) < 0) {
        code = -errno;
        unlink(own.sun_path);
        return code;
    }
    memcpy(s->path, path, strlen(path) + 1);
    s->inode = st.st_ino;
    return 0;
}

int share_open(struct share **ret, int proc_fd, bool usage)
{
    struct share *s = calloc(1, sizeof(*s));
    struct epoll_event e = {.events = EPOLLIN};
    if (!s || share_table_init(&s->table) < 0) {
        free(s);
        return -ENOMEM;
    }
    s->listen_fd = -1;
    s->proc_fd = proc_fd;
    s->has_usage = usage;
    s->due_ns = UINT64_MAX;
    s->epoll_fd = epoll_create1(EPOLL_CLOEXEC);
    int code = s->epoll_fd < 0 ? -errno : listen_at(s, exits_observer_path());
    if (code == 0 && epoll_ctl(s->epoll_fd, EPOLL_CTL_ADD, s->listen_fd, &e) < 0)
        code = -errno;
    if (code == 0)
        *ret = s;
    else
        share_close(s);
    return code;
}

void share_close(struct share *s)
{
    struct stat st;
    if (!s)
        return;
    while (s->n)
        drop_client(s, s->n - 1);
    if (*s->path && stat(s->path, &st) == 0 && st.st_ino == s->inode)
        unlink(s->path);
    if (s->listen_fd >= 0)
        shutdown(s->listen_fd, SHUT_RDWR);
    fd_close(s->listen_fd);
    fd_close(s->epoll_fd);
    share_table_done(&s->table);
    free(s);
}

int share_fd(const struct share *s)
{
    return s ? s->epoll_fd : -1;
}

uint64_t share_due_ns(const struct share *s)
{
    return s ? s->due_ns : UINT64_MAX;
}
