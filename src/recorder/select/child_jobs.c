/* SPDX-License-Identifier: Apache-2.0 */
/* Jobs of the process that selects: they come and go by orders of the recorder. Their pins are read here. */
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/clock.h"
#include "base/fd.h"
#include "recorder/select/child.h"

#define NEW_PAUSE 20u /* the pause after processes were matched for new jobs, in multiples of the time that it took */
#define NEW_PAUSE_MOST (5 * NS_PER_SEC)
#define PINS_EVERY (200 * NS_PER_MS) /* period of reading files and groups; longer if there are more than PINS_FEW */
#define PINS_FEW 100u

static void count_needs(struct child *c)
{
    c->needs_cmdline = c->needs_exe = c->needs_user = false;
    c->n_read_pins = 0;
    for (size_t i = 0; i < c->n_jobs; i++) {
        const struct select_job *j = c->jobs[i];
        c->needs_cmdline |= rules_need(&j->rules, MATCH_CMDLINE);
        c->needs_exe |= rules_need(&j->rules, MATCH_EXE);
        c->needs_user |= rules_need_user(&j->rules);
        c->n_read_pins += j->pins.is_read ? j->pins.n : 0;
    }
    c->pins_due_ns = !c->n_read_pins ? UINT64_MAX : c->pins_due_ns == UINT64_MAX ? 0 : c->pins_due_ns;
}

static bool reserve_buffers(struct child *c)
{
    if (c->n_jobs < c->cap_jobs)
        return true;
    size_t cap = 2 * c->cap_jobs + 4;
    struct select_job **jobs = realloc(c->jobs, cap * sizeof(*jobs));
    c->jobs = jobs ? jobs : c->jobs;
    struct watch_fit *fits = realloc(c->fits, cap * sizeof(*fits));
    c->fits = fits ? fits : c->fits;
    c->cap_jobs = jobs && fits ? cap : c->cap_jobs;
    return jobs && fits;
}

/* Returns a negative code if memory runs out: then this process ends, and the recorder starts another one. */
static int add_job(struct child *c, uint32_t id, struct span bytes)
{
    struct select_job *j;
    int code = reserve_buffers(c) ? select_job_decode(&j, id, bytes) : -ENOMEM;
    if (code < 0)
        return code;
    j->pins.job = &j->watch;
    code = pins_init(&j->pins, c->setup->root_fd);
    free(j->places);
    j->places = NULL;
    for (size_t i = 0; code == 0 && i < j->pins.n; i++)
        j->pins.state[i].is_barred = child_is_barred(c->of, -(int32_t)i - 1, id);
    code = code < 0 ? code : watch_add(&c->watch, &j->watch);
    if (code < 0) {
        select_job_free(j);
        return code;
    }
    c->jobs[c->n_jobs++] = j;
    c->n_new++;
    count_needs(c);
    return 0;
}

static void remove_job(struct child *c, uint32_t id)
{
    size_t i = 0;
    while (i < c->n_jobs && c->jobs[i]->watch.id != id)
        i++;
    if (i == c->n_jobs)
        return;
    struct select_job *j = c->jobs[i];
    c->n_new -= j->watch.is_new;
    watch_remove(&c->watch, &j->watch);
    select_job_free(j);
    c->jobs[i] = c->jobs[--c->n_jobs];
    count_needs(c);
}

/* Reads a job from a file in memory (memfd_create(2)). */
static int read_job(struct child *c, uint32_t id, int fd)
{
    struct stat st;
    if (fstat(fd, &st) < 0 || st.st_size <= 0)
        return -EINVAL;
    void *at = mmap(NULL, (size_t)st.st_size, PROT_READ, MAP_PRIVATE, fd, 0);
    if (at == MAP_FAILED)
        return -errno;
    int code = add_job(c, id, span_of(at, (size_t)st.st_size));
    munmap(at, (size_t)st.st_size);
    return code;
}

/* Returns false if there is none. */
static bool take_order(struct child *c)
{
    struct select_order order;
    union {
        struct cmsghdr header;
        char space[CMSG_SPACE(sizeof(int))];
    } control;
    struct iovec part = {&order, sizeof(order)};
    struct msghdr m = {.msg_iov = &part, .msg_iovlen = 1, .msg_control = &control, .msg_controllen = sizeof(control)};
    ssize_t n = recvmsg(c->fd, &m, MSG_DONTWAIT | MSG_CMSG_CLOEXEC);
    if (n < 0 && (errno == EAGAIN || errno == EINTR))
        return false;
    if (n != sizeof(order))
        _exit(0); /* the recorder is gone */
    const struct cmsghdr *h = CMSG_FIRSTHDR(&m);
    int fd = -1;
    if (h && h->cmsg_type == SCM_RIGHTS)
        memcpy(&fd, CMSG_DATA(h), sizeof(fd));
    if (order.is_over)
        remove_job(c, order.job);
    else if (read_job(c, order.job, fd) < 0)
        _exit(1);
    fd_close(fd);
    return true;
}

static void turn_pins(struct child *c, bool first)
{
    c->pins.now_ns = clock_monotonic_ns();
    for (size_t i = 0; i < c->n_jobs; i++) {
        struct select_job *j = c->jobs[i];
        if (first ? j->watch.is_new : j->pins.is_read)
            pins_turn(&j->pins, &c->pins, first);
    }
    watch_pins_unseen(&c->watch);
}

void child_begin_new(struct child *c)
{
    turn_pins(c, true);
    for (size_t i = 0; i < c->n_jobs; i++) {
        struct watch_job *j = &c->jobs[i]->watch;
        if (!j->is_new)
            continue;
        j->is_new = false;
        child_report_change(c, &(struct watch_change){.what = WATCH_READY, .job = j->id});
    }
    c->n_new = 0;
}

void child_match_new(struct child *c)
{
    uint64_t begin = clock_monotonic_ns();
    if (!c->n_new || begin < c->new_due_ns)
        return;
    watch_match_new(&c->watch);
    child_begin_new(c);
    uint64_t end = clock_monotonic_ns(), pause = NEW_PAUSE * (end - begin);
    c->new_due_ns = end + (pause < NEW_PAUSE_MOST ? pause : NEW_PAUSE_MOST);
}

void child_follow_pins(struct child *c)
{
    uint64_t now = clock_monotonic_ns();
    if (now < c->pins_due_ns)
        return;
    turn_pins(c, false);
    c->pins_due_ns = now + PINS_EVERY * (c->n_read_pins > PINS_FEW ? c->n_read_pins / PINS_FEW : 1);
}

void child_take_orders(struct child *c)
{
    while (take_order(c))
        ;
}
