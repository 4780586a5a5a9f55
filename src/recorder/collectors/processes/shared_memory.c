/* SPDX-License-Identifier: Apache-2.0 */
/* Processes that use the address space of another one: clone(2) with CLONE_VM, as vfork(2) until the child executes a
 * program. Their memory counts once. Example: a process of 100 MB starts three such children, and /proc shows 100 MB
 * of rss for each of the four: the job holds 100 MB, not 400. */
#include <errno.h>

#include "kernel/proc/procfs.h"
#include "recorder/collectors/processes/process.h"

#define PF_FORKNOEXEC 0x40u /* it has not executed a program since it was forked */

#define NEAR_PAGES 16u /* what a process may use between two readings */
#define NEAR_PART 64u

/* kcmp(2) is refused. A parent that called vfork(2) waits in state D, and its address space is as large as its child's.
 * Otherwise only a child whose memory has the very size of its parent's is taken to use it: that of one that was forked
 * lacks the pages of files that it has not touched. */
static bool looks_shared(const struct processes *p, const struct member *m, const struct pid_stat *st,
                         const struct member *owner)
{
    struct pid_stat other;
    if (proc_read_stat(p->sampling->options.proc_fd, owner->row.key.pid, &other) < 0 || other.vsize != st->vsize)
        return false;
    uint64_t apart = other.rss > st->rss ? other.rss - st->rss : st->rss - other.rss;
    bool was_owner = m->reading.memory_owner.pid == owner->row.key.pid;
    return apart <= (was_owner ? NEAR_PAGES + st->rss / NEAR_PART : other.state == 'D' ? NEAR_PAGES : 0);
}

static bool is_owner(const struct processes *p, const struct member *m, const struct pid_stat *st,
                     const struct member *owner)
{
    if (!owner || owner == m || member_state(owner) != MEMBER_ALIVE || member_is_zombie(owner))
        return false;
    int same = proc_same_memory(m->row.key.pid, owner->row.key.pid);
    return same < 0 && same != -ESRCH ? looks_shared(p, m, st, owner) : same > 0;
}

/* Finds the next owner when the owner has ended, or executed a program: the oldest one that shares its memory. Example:
 * 1 started 2 and 3, and ends: 2 owns the memory, and 3 uses it. */
static const struct member *oldest_sharer(const struct processes *p, const struct member *m, const struct pid_stat *st)
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

/* Its parent has other memory. The one that made it may have ended before it was read first: then it is an orphan, and
 * so are the others that the same one made. Example: 1 starts 2 and 3, and ends before the first sample. */
static const struct member *oldest_orphan(const struct processes *p, const struct member *m, const struct pid_stat *st)
{
    const struct tree *tree = &p->sampling->job->tree;
    unsigned compared = 0;
    for (size_t i = 0; i < tree->n && compared < SIBLINGS_MOST; i++) {
        const struct member *other = tree->at[i];
        if (!other || other->links.parent || other->row.id >= m->row.id || other->reading.memory_owner.pid ||
            other->row.value[PROCESS_virtual] != st->vsize)
            continue;
        compared++;
        if (is_owner(p, m, st, other))
            return other;
    }
    return NULL;
}

/* Returns NULL: it has memory of its own. */
static const struct member *first_owner(const struct processes *p, const struct member *m, const struct pid_stat *st)
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
