/* SPDX-License-Identifier: Apache-2.0 */
/* Processes that use the address space of another one: clone(2) with CLONE_VM, as vfork(2) until the child executes a
 * program. Their memory counts once. Example: a process of 100 MB starts three such children, and /proc shows 100 MB
 * of rss for each of the four: the job holds 100 MB, not 400. */
#include <errno.h>

#include "kernel/proc/procfs.h"
#include "recorder/collectors/processes/process.h"

#define PF_FORKNOEXEC 0x40u /* it has not executed a program since it was forked */

/* Is a value of b's between two readings of a's? */
static bool is_between(const struct pid_status *a, const struct pid_status *b, const struct pid_status *after,
                       enum pid_status_field field)
{
    uint64_t first = a->value[field], last = after->value[field], v = b->value[field];
    return a->valid & b->valid & after->valid & 1u << field && ((first <= v && v <= last) || (last <= v && v <= first));
}

/* Compares values that differ after fork(2): the child begins without most pages of files, and with page tables of its
 * own. The processes run while they are read, so the memory of one may have changed when the other is read. */
static bool has_same_status(const struct processes *p, int32_t a, int32_t b)
{
    static const enum pid_status_field fields[] = {STATUS_VM_HWM, STATUS_RSS_ANON, STATUS_RSS_FILE, STATUS_RSS_SHMEM,
                                                   STATUS_VM_PTE};
    struct pid_status of_a, of_b, after;
    int fd = p->sampling->options.proc_fd;
    bool is_same = proc_read_status(fd, a, &of_a) == 0 && proc_read_status(fd, b, &of_b) == 0 &&
                   proc_read_status(fd, a, &after) == 0;
    for (size_t i = 0; is_same && i < sizeof(fields) / sizeof(*fields); i++)
        is_same = is_between(&of_a, &of_b, &after, fields[i]);
    return is_same;
}

/* A guess, where kcmp(2) is refused, as by the filters of containers: a parent that called vfork(2) waits in state D,
 * and /proc shows the same memory for it as for its child. If no parent waits, processes of the same size may have
 * separate memory: each counts with its own, and the tape has a warning. */
static bool looks_shared(struct processes *p, const struct member *m, const struct pid_stat *st,
                         const struct member *owner)
{
    bool is_parent = m->links.parent == owner;
    struct pid_stat other;
    if ((!is_parent && p->sharing_reported) ||
        proc_read_stat(p->sampling->options.proc_fd, owner->row.key.pid, &other) < 0 || other.vsize != st->vsize)
        return false;
    bool waits = is_parent && other.state == 'D';
    if (waits && m->reading.memory_owner.pid == owner->row.key.pid)
        return true; /* it runs: its memory may change between the readings of the two */
    if ((!waits && p->sharing_reported) || !has_same_status(p, m->row.key.pid, owner->row.key.pid))
        return false;
    if (!waits) {
        p->sharing_reported = true;
        job_event(p->sampling->job, p->sampling->now_ns, BARO_EVENT_WARNING, NULL, 0, MEMORY_COUNTS_TWICE);
    }
    return waits;
}

static bool is_owner(struct processes *p, const struct member *m, const struct pid_stat *st, const struct member *owner)
{
    if (!owner || owner == m || member_state(owner) != MEMBER_ALIVE || member_is_zombie(owner))
        return false;
    int same = proc_same_memory(m->row.key.pid, owner->row.key.pid);
    return same < 0 && same != -ESRCH ? looks_shared(p, m, st, owner) : same > 0;
}

/* Finds the next owner when the owner has ended, or executed a program: the oldest one that shares its memory. Example:
 * 1 started 2 and 3, and ends: 2 owns the memory, and 3 uses it. */
static const struct member *oldest_sharer(struct processes *p, const struct member *m, const struct pid_stat *st)
{
    const struct tree *tree = &p->sampling->job->tree;
    const struct member *oldest = NULL;
    for (size_t i = 0; i < tree->n; i++) {
        const struct member *other = tree->at[i];
        if (other && other->row.id < (oldest ? oldest->row.id : m->row.id) && is_owner(p, m, st, other))
            oldest = other;
    }
    return oldest;
}

#define SIBLINGS_MOST 64u
#define STEPS_MOST 1024u /* else n orphans take n * n / 2 steps in the first sample */

/* Finds the owner of a process whose parent has other memory. The process that forked it may have ended before it was
 * first read. In that case it is an orphan, and so are its siblings, which are before it in the tree. Example: 1 starts
 * 2 and 3, and ends before the first sample. */
static const struct member *oldest_orphan(struct processes *p, const struct member *m, const struct pid_stat *st)
{
    const struct tree *tree = &p->sampling->job->tree;
    size_t end = m->links.index, first = end > STEPS_MOST ? end - STEPS_MOST : 0;
    unsigned compared = 0;
    for (size_t i = end; i > first && compared < SIBLINGS_MOST; i--) {
        const struct member *other = tree->at[i - 1];
        if (!other || other->links.parent || other->row.id >= m->row.id || other->reading.memory_owner.pid ||
            (other->row.absent[PROCESS_virtual] == BARO_PRESENT && other->row.value[PROCESS_virtual] != st->vsize))
            continue; /* where the size was not asked for, kcmp(2) decides alone */
        compared++;
        if (is_owner(p, m, st, other))
            return other;
    }
    return NULL;
}

/* Returns the member whose memory the process uses; NULL if it has memory of its own. */
static const struct member *first_owner(struct processes *p, const struct member *m, const struct pid_stat *st)
{
    const struct member *parent = m->links.parent;
    if (!parent)
        return oldest_orphan(p, m, st);
    if (!is_owner(p, m, st, parent))
        return NULL;
    /* which may use the memory of another one itself */
    const struct member *owner = tree_find(&p->sampling->job->tree, parent->reading.memory_owner.pid);
    return owner ? owner : parent;
}

bool memory_is_shared(struct processes *p, struct member *m, const struct pid_stat *st)
{
    static const struct baro_key itself;
    const struct tree *tree = &p->sampling->job->tree;
    if (!(st->flags & PF_FORKNOEXEC) || st->state == 'Z') {
        m->reading.memory_owner = itself;
        return false;
    }
    if (m->reading.memory_owner.pid) {
        const struct member *owner = tree_find(tree, m->reading.memory_owner.pid);
        if (owner && baro_key_equal(owner->row.key, m->reading.memory_owner) && is_owner(p, m, st, owner))
            return true;
        owner = oldest_sharer(p, m, st);
        m->reading.memory_owner = owner ? owner->row.key : itself;
    } else if (!m->reading.memory_checked) {
        const struct member *owner = first_owner(p, m, st);
        m->reading.memory_checked = true;
        m->reading.memory_owner = owner ? owner->row.key : itself;
    }
    return m->reading.memory_owner.pid > 0;
}
