/* SPDX-License-Identifier: Apache-2.0 */
#include "recorder/job/tree.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "recorder/job/member_index.h"

#define FIRST_HASH 64u

static size_t slot_of(const struct tree *t, int32_t pid)
{
    return ((uint32_t)pid * 2654435769u) & (t->hash_size - 1);
}

int tree_init(struct tree *t)
{
    *t = (struct tree){.epoch = 1};
    t->hash = calloc(FIRST_HASH, sizeof(*t->hash));
    if (!t->hash)
        return -ENOMEM;
    t->hash_size = FIRST_HASH;
    return 0;
}

/* Members are allocated in blocks of 16 KiB, which is a size class of common allocators. A single member is never
 * freed.
 */
struct member_block {
    struct member_block *next;
    struct member at[(16 * 1024 - 64) / sizeof(struct member)];
};

static void member_free(struct member *m)
{
    free(m->row.name);
    free(m->row.cmdline);
    free(m->account.base);
    free(m->other.base);
    free(m->life.end_usage);
}

/* Removes all members from the index, also gone ones, which are not in the arrays any more. */
static void leave_index(struct tree *t)
{
    for (struct member_block *b = t->member_index ? t->blocks : NULL; b; b = b->next) {
        for (size_t i = 0; i < sizeof(b->at) / sizeof(*b->at); i++) {
            if (b->at[i].state != MEMBER_FREE)
                member_index_remove(t->member_index, &b->at[i]);
        }
    }
}

void tree_done(struct tree *t)
{
    leave_index(t);
    for (size_t i = 0; i < t->n; i++) {
        if (t->at[i])
            member_free(t->at[i]);
    }
    while (t->free) {
        struct member *m = t->free;
        t->free = m->links.list_next;
        member_free(m);
    }
    while (t->blocks) {
        struct member_block *b = t->blocks;
        t->blocks = b->next;
        free(b);
    }
    while (t->free_usages) {
        struct member_usage *u = t->free_usages;
        t->free_usages = u->next;
        free(u);
    }
    while (t->free_settlements) {
        struct settlement *e = t->free_settlements;
        t->free_settlements = e->next;
        free(e);
    }
    free(t->at);
    free(t->rows);
    free(t->gates);
    free(t->moved);
    free(t->hash);
    *t = (struct tree){0};
}

struct member *tree_find(const struct tree *t, int32_t pid)
{
    struct member *m = t->hash[slot_of(t, pid)];
    while (m && m->row.key.pid != pid)
        m = m->links.hash_next;
    return m;
}

static void rehash(struct tree *t)
{
    size_t size = t->hash_size * 2;
    struct member **hash = calloc(size, sizeof(*hash));
    if (!hash)
        return; /* chains get longer */
    free(t->hash);
    t->hash = hash;
    t->hash_size = size;
    for (size_t i = 0; i < t->n; i++) {
        struct member *m = t->at[i];
        if (!m)
            continue;
        struct member **slot = &hash[slot_of(t, m->row.key.pid)];
        m->links.hash_next = *slot;
        *slot = m;
    }
}

static bool grow_arrays(struct tree *t)
{
    if (t->n < t->cap)
        return true;
    size_t cap = t->cap < 4096 ? t->cap * 2 + 64 : t->cap + t->cap / 4 / 64 * 64;
    struct member **at = realloc(t->at, cap * sizeof(struct member *));
    t->at = at ? at : t->at;
    struct baro_process **rows = realloc(t->rows, cap * sizeof(struct baro_process *));
    t->rows = rows ? rows : t->rows;
    struct gate *gates = realloc(t->gates, cap * sizeof(struct gate));
    t->gates = gates ? gates : t->gates;
    uint64_t *moved = realloc(t->moved, cap / 64 * sizeof(uint64_t));
    t->moved = moved ? moved : t->moved;
    if (!at || !rows || !gates || !moved)
        return false;
    memset(moved + t->cap / 64, 0, (cap - t->cap) / 64 * sizeof(uint64_t));
    t->cap = cap;
    return true;
}

static struct member *member_new(struct tree *t)
{
    if (!t->free) {
        struct member_block *b = calloc(1, sizeof(*b));
        if (!b)
            return NULL;
        b->next = t->blocks;
        t->blocks = b;
        for (size_t i = sizeof(b->at) / sizeof(*b->at); i-- > 0;) {
            b->at[i].links.list_next = t->free;
            t->free = &b->at[i];
        }
    }
    struct member *m = t->free;
    t->free = m->links.list_next;
    memset(m, 0, sizeof(*m));
    return m;
}

struct member *tree_add(struct tree *t, int32_t pid, struct member *parent)
{
    if (!grow_arrays(t))
        return NULL;
    struct member *m = member_new(t);
    if (!m)
        return NULL;
    m->row.name = strdup("");
    if (!m->row.name) {
        m->links.list_next = t->free;
        t->free = m;
        return NULL;
    }
    m->links.tree = t;
    m->state = MEMBER_ALIVE;
    m->row.id = ++t->last_id;
    m->row.key.pid = pid;
    m->row.uid = UINT32_MAX;
    m->row.info_version = 1;
    m->row.cmdline_absent = BARO_ABSENT_NOT_YET;
    memset(m->row.absent, BARO_ABSENT_NOT_YET, sizeof(m->row.absent));
    m->row.absent[PROCESS_task] = m->row.absent[PROCESS_cgroup] = BARO_ABSENT_NOT_ASKED;
    for (int i = PROCESS_children_io_read; i <= PROCESS_children_io_wchar; i++)
        m->row.absent[i] = BARO_ABSENT_NOT_ASKED;
    m->links.index = (uint32_t)t->n;
    t->rows[t->n] = &m->row;
    t->gates[t->n] = (struct gate){.pid = pid};
    t->at[t->n++] = m;
    member_moved(m);
    tree_set_parent(m, parent);
    struct member **slot = &t->hash[slot_of(t, pid)];
    m->links.hash_next = *slot;
    *slot = m;
    if (t->n > t->hash_size)
        rehash(t);
    if (t->member_index)
        member_index_add(t->member_index, m);
    return m;
}

static void unlink_sibling(struct member *m)
{
    if (!m->links.parent)
        return;
    if (m->links.sibling_prev)
        m->links.sibling_prev->links.sibling_next = m->links.sibling_next;
    else
        m->links.parent->links.first_child = m->links.sibling_next;
    if (m->links.sibling_next)
        m->links.sibling_next->links.sibling_prev = m->links.sibling_prev;
    m->links.sibling_next = m->links.sibling_prev = NULL;
    m->links.parent->links.n_children--;
    member_moved(m->links.parent);
    m->links.parent = NULL;
}

void tree_set_parent(struct member *m, struct member *parent)
{
    unlink_sibling(m);
    m->links.parent = parent;
    member_moved(m);
    if (!parent)
        return;
    m->links.sibling_next = parent->links.first_child;
    if (m->links.sibling_next)
        m->links.sibling_next->links.sibling_prev = m;
    parent->links.first_child = m;
    parent->links.n_children++;
    parent->account.had_child = true;
    parent->reaped_io.forks++;
    member_moved(parent);
    if (!baro_key_equal(m->row.parent, parent->row.key)) {
        m->row.parent = parent->row.key;
        m->row.info_version++;
    }
}

void tree_remove(struct tree *t, struct member *m)
{
    struct member **slot = &t->hash[slot_of(t, m->row.key.pid)];
    while (*slot != m)
        slot = &(*slot)->links.hash_next;
    *slot = m->links.hash_next;
    while (m->links.first_child) {
        struct member *child = m->links.first_child;
        tree_set_parent(child, NULL);
        member_wake(child);
        child->account.successor = m;
        child->account.successor_epoch = t->epoch;
    }
    if (m->links.parent || m->account.successor_epoch != t->epoch)
        m->account.successor = m->links.parent;
    unlink_sibling(m);
    t->moved[m->links.index / 64] &= ~(UINT64_C(1) << m->links.index % 64);
    t->gates[m->links.index].pid = 0;
    t->at[m->links.index] = NULL;
    t->holes++;
    t->removals++;
}

const struct member_usage *member_usage(const struct member *m)
{
    static const struct member_usage nothing;
    return m->life.end_usage ? m->life.end_usage : &nothing;
}

struct member_usage *member_make_usage(struct member *m)
{
    struct tree *t = m->links.tree;
    if (m->life.end_usage)
        return m->life.end_usage;
    m->life.end_usage = t->free_usages;
    if (m->life.end_usage)
        t->free_usages = m->life.end_usage->next;
    else
        m->life.end_usage = malloc(sizeof(*m->life.end_usage));
    struct member_usage *u = m->life.end_usage ? m->life.end_usage : &t->spare_usage;
    *u = (struct member_usage){0};
    return u;
}

void tree_release(struct tree *t, struct member *m)
{
    if (t->member_index)
        member_index_remove(t->member_index, m);
    if (m->life.end_usage) {
        m->life.end_usage->next = t->free_usages;
        t->free_usages = m->life.end_usage;
        m->life.end_usage = NULL;
    }
    free(m->row.name);
    free(m->row.cmdline);
    free(m->account.base);
    free(m->other.base);
    m->row.name = m->row.cmdline = NULL;
    m->account.base = m->other.base = NULL;
    m->state = MEMBER_FREE;
    m->links.list_next = t->free;
    t->free = m;
}

static void move_member(struct tree *t, size_t from, size_t to)
{
    uint64_t bit = t->moved[from / 64] >> from % 64 & 1;
    t->moved[from / 64] &= ~(UINT64_C(1) << from % 64);
    t->moved[to / 64] |= bit << to % 64;
    t->at[to] = t->at[from];
    t->at[to]->links.index = (uint32_t)to;
    t->rows[to] = t->rows[from];
    t->gates[to] = t->gates[from];
}

size_t tree_compact(struct tree *t)
{
    size_t n = 0;
    for (size_t i = 0; t->holes && i < t->n; i++) {
        if (!t->at[i])
            continue;
        if (i != n)
            move_member(t, i, n);
        n++;
    }
    t->n = t->holes ? n : t->n;
    t->holes = 0;
    return t->n;
}

size_t tree_next_moved(const struct tree *t, size_t i)
{
    for (uint64_t word; i < t->n; i = (i | 63) + 1) {
        word = t->moved[i / 64] >> i % 64;
        if (word)
            return i + (size_t)__builtin_ctzll(word);
    }
    return t->n;
}

void tree_clear_moved(struct tree *t)
{
    if (t->n)
        memset(t->moved, 0, (t->n + 63) / 64 * sizeof(*t->moved));
}

size_t tree_count(const struct tree *t)
{
    return t->n - t->holes;
}

static bool set_text(struct member *m, char **text, const char *to)
{
    if (*text && strcmp(*text, to) == 0)
        return true;
    char *copy = strdup(to);
    if (!copy)
        return false;
    free(*text);
    *text = copy;
    m->row.info_version++;
    member_moved(m);
    return true;
}

bool member_set_name(struct member *m, const char *name)
{
    return set_text(m, &m->row.name, name);
}

void member_note_program(struct member *m)
{
    const char *name = m->row.name ? m->row.name : "";
    size_t n = strnlen(name, sizeof(m->events.program));
    n = n < sizeof(m->events.program) ? n : 0;
    memcpy(m->events.program, name, n);
    m->events.program[n] = 0;
    m->events.program_cpu_ns = m->reading.clock_ns;
    m->events.program_read_ns = m->row.read_ns;
    if (m->row.absent[PROCESS_rss_peak] == BARO_PRESENT && m->row.value[PROCESS_rss_peak] > m->events.program_rss)
        m->events.program_rss = m->row.value[PROCESS_rss_peak];
}

bool member_set_cmdline(struct member *m, const char *cmdline)
{
    m->row.cmdline_absent = BARO_PRESENT;
    return set_text(m, &m->row.cmdline, cmdline);
}
