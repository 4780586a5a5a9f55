/* SPDX-License-Identifier: Apache-2.0 */
/* Processes that use the address space of another one: clone(2) with CLONE_VM, as vfork(2) until the child executes a
 * program. Their memory counts once. Example: a process of 100 MB starts three such children, and /proc shows 100 MB
 * of rss for each of the four: the job holds 100 MB, not 400. */
#include "kernel/proc/procfs.h"
#include "recorder/collectors/processes/process.h"

#define PF_FORKNOEXEC 0x40u /* it has not executed a program since it was forked */

static bool is_owner(const struct member *m, const struct member *owner)
{
    return owner && owner != m && member_state(owner) == MEMBER_ALIVE && !member_is_zombie(owner) &&
           proc_same_memory(m->row.key.pid, owner->row.key.pid);
}

/* Finds the next owner when the owner has ended, or executed a program: the oldest one that shares its memory. Example:
 * 1 started 2 and 3, and ends: 2 owns the memory, and 3 uses it. */
static const struct member *oldest_sharer(const struct tree *tree, const struct member *m)
{
    const struct member *oldest = NULL;
    for (size_t i = 0; i < tree->n; i++) {
        const struct member *other = tree->at[i];
        if (other && other->row.id < (oldest ? oldest->row.id : m->row.id) && is_owner(m, other))
            oldest = other;
    }
    return oldest;
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
        if (owner && baro_key_equal(owner->row.key, m->reading.memory_owner) && is_owner(m, owner))
            return true;
        owner = oldest_sharer(tree, m);
        m->reading.memory_owner = owner ? owner->row.key : itself;
    } else if (!m->reading.memory_checked && m->links.parent) {
        const struct member *parent = m->links.parent;
        m->reading.memory_checked = true;
        if (is_owner(m, parent)) /* which may use the memory of another one itself */
            m->reading.memory_owner = parent->reading.memory_owner.pid ? parent->reading.memory_owner : parent->row.key;
    }
    return m->reading.memory_owner.pid > 0;
}
