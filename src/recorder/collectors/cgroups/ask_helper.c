/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Reads expensive files. For memory.stat the kernel sums up all groups below, which on some machines include thousands
 * of removed groups that still hold a page; that can take seconds. A helper process reads it, one request per group at
 * a time, and a later tick gets the reply.
 */
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "base/fd.h"
#include "recorder/collectors/cgroups/state.h"

#define AGAIN (60 * NS_PER_SEC) /* pause after a read that hung; then two minutes, four ... */
#define AGAIN_DOUBLED 5u
#define EXPENSIVE (5 * NS_PER_SEC) /* between two requests: waking a helper costs more than most replies */
#define STUCK_MOST 4u              /* helpers that may hang: a file that hung is not requested again */
#define LAST_AFTER NS_PER_SEC      /* the last tick requests it again if the last reply is older */
/* Of the last tick, and where memory runs out: the job and the recorder may be killed before the next one. */
#define LAST_DEADLINE (5 * NS_PER_MS)
/* Of the first tick, if a helper runs by then: nothing else waits for that tick. */
#define FIRST_DEADLINE (20 * NS_PER_MS)

/* The helper opens the file itself: it does not share our descriptors. */
void group_leave(struct cgroup_state *group, size_t i)
{
    char link[64], path[4096];
    snprintf(link, sizeof(link), "/proc/self/fd/%d", group->fd[i]);
    ssize_t n = readlink(link, path, sizeof(path));
    group->fd[i] = fd_close(group->fd[i]);
    if (n > 0 && (size_t)n < sizeof(path) && *path == '/')
        group->left.path = strndup(path, (size_t)n);
    group->left.file = i;
    if (!group->left.path)
        group_lack(group, &group_files[i], BARO_ABSENT_UNKNOWN);
}

static void note_failed_read(struct cgroups *g, struct cgroup_state *group, uint8_t why)
{
    struct group_left *l = &group->left;
    if (why == BARO_ABSENT_NOT_YET) { /* the request reached no helper: nothing was read */
        l->due_ns = g->now_ns + EXPENSIVE;
        return;
    }
    group_lack(group, &group_files[l->file], why);
    l->hung = why == BARO_ABSENT_TIMEOUT;
    l->due_ns = g->now_ns + (l->hung ? AGAIN << (l->tries < AGAIN_DOUBLED ? l->tries : AGAIN_DOUBLED) : EXPENSIVE);
    l->tries += l->hung; /* makes a new key: the helper refuses a key that hung */
}

static void on_reply(void *context, const struct helper_reply *reply)
{
    struct cgroups *g = context;
    struct cgroup_state *group = g->at, *end = g->at + g->n;
    while (group < end && group->entity->id != (uint32_t)reply->key.pid)
        group++;
    if (group == end)
        return;
    struct group_left *l = &group->left;
    uint64_t rest = reply->spent_ns * OF_ITS_TIME;
    l->asked = false;
    if (group->gone)
        return;
    if (reply->host_absent) {
        note_failed_read(g, group, reply->host_absent);
        return;
    }
    if (!group_take(g, group, l->file, span_of(reply->data, reply->data_len)))
        group_lack(group, &group_files[l->file], BARO_ABSENT_UNKNOWN);
    l->hung = false;
    l->due_ns = g->now_ns + (rest > EXPENSIVE ? rest : EXPENSIVE);
}

void cgroups_use(struct cgroups *g, struct helper *helper)
{
    if (g)
        g->slow = helper;
}

bool cgroups_need_helper(const struct cgroups *g)
{
    for (size_t i = 0; g && i < g->n; i++) {
        if (g->at[i].left.path)
            return true;
    }
    return false;
}

/* A job that is so short that it has no helper. The kernel sums up its groups in microseconds, nearly always. */
static void read_here(struct cgroups *g, struct cgroup_state *group)
{
    char text[TEXT];
    ssize_t n = fd_read_file(AT_FDCWD, group->left.path, text, sizeof(text));
    if (n > 0 && (size_t)n < sizeof(text))
        group_take(g, group, group->left.file, span_of(text, (size_t)n));
    group->left.due_ns = g->now_ns + EXPENSIVE;
}

void groups_ask(struct cgroups *g, bool last)
{
    struct helper_request requests[GROUPS_MAX];
    size_t n = 0;
    bool urgent = g->is_urgent && g->options.patient;
    g->is_urgent = false;
    if (last && !g->options.patient)
        return;
    for (size_t i = 0; (g->slow || urgent) && i < g->n; i++) {
        struct group_left *l = &g->at[i].left;
        uint64_t early = l->hung ? 0 : urgent ? EXPENSIVE : last ? EXPENSIVE - LAST_AFTER : 0;
        if (!l->path || l->asked || g->at[i].gone || g->now_ns + early < l->due_ns ||
            (l->hung && worker_left_behind(helper_worker(g->slow)) >= STUCK_MOST))
            continue;
        if (!g->slow) {
            read_here(g, &g->at[i]);
            continue;
        }
        l->asked = true;
        requests[n++] = (struct helper_request){.key = {(int32_t)g->at[i].entity->id, g->serial + l->tries},
                                                .what = HELPER_FILE,
                                                .path = l->path,
                                                .fn = on_reply,
                                                .context = g};
    }
    uint64_t deadline = g->options.patient ? (g->ticks == 1 ? FIRST_DEADLINE : last || urgent ? LAST_DEADLINE : 0) : 0;
    if (n && helper_ask(g->slow, requests, n, deadline, -1, on_reply, g) < 0) {
        for (size_t i = 0; i < g->n; i++)
            g->at[i].left.asked = false;
    }
}

void cgroups_collect(struct cgroups *g)
{
    if (g && g->slow && helper_busy(g->slow))
        helper_collect(g->slow, on_reply, g);
}
