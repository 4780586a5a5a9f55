/* SPDX-License-Identifier: Apache-2.0 */
#include "job/tree.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

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

static void member_free(struct member *m)
{
    free(m->row.name);
    free(m->row.cmdline);
    free(m->base);
    free(m);
}

void tree_done(struct tree *t)
{
    for (size_t i = 0; i < t->n; i++) {
        if (t->at[i])
            member_free(t->at[i]);
    }
    while (t->free) {
        struct member *m = t->free;
        t->free = m->list_next;
        member_free(m);
    }
    free(t->at);
    free(t->rows);
    free(t->hash);
    *t = (struct tree){0};
}

struct member *tree_find(const struct tree *t, int32_t pid)
{
    struct member *m = t->hash[slot_of(t, pid)];
    while (m && m->row.key.pid != pid)
        m = m->hash_next;
    return m;
}

static void rehash(struct tree *t)
{
    size_t size = t->hash_size * 2;
    struct member **hash = calloc(size, sizeof(*hash));
    if (!hash)
        return; /* longer chains, nothing worse */
    free(t->hash);
    t->hash = hash;
    t->hash_size = size;
    for (size_t i = 0; i < t->n; i++) {
        struct member *m = t->at[i];
        if (!m)
            continue;
        struct member **slot = &hash[slot_of(t, m->row.key.pid)];
        m->hash_next = *slot;
        *slot = m;
    }
}

static bool grow(struct tree *t)
{
    if (t->n < t->cap)
        return true;
    size_t cap = t->cap ? t->cap * 2 : 32;
    struct member **at = realloc(t->at, cap * sizeof(struct member *));
    if (!at)
        return false;
    t->at = at;
    struct baro_process **rows = realloc(t->rows, cap * sizeof(struct baro_process *));
    if (!rows)
        return false;
    t->rows = rows;
    t->cap = cap;
    return true;
}

static struct member *member_new(struct tree *t)
{
    struct member *m = t->free;
    if (!m)
        return calloc(1, sizeof(*m));
    t->free = m->list_next;
    memset(m, 0, sizeof(*m));
    return m;
}

struct member *tree_add(struct tree *t, int32_t pid, struct member *parent)
{
    if (!grow(t))
        return NULL;
    struct member *m = member_new(t);
    if (!m)
        return NULL;
    m->row.name = strdup("");
    if (!m->row.name) {
        free(m);
        return NULL;
    }
    m->row.id = ++t->last_id;
    m->row.key.pid = pid;
    m->row.uid = UINT32_MAX;
    m->row.info_version = 1;
    m->row.cmdline_absent = BARO_ABSENT_NOT_YET;
    memset(m->row.absent, BARO_ABSENT_NOT_YET, sizeof(m->row.absent));
    tree_set_parent(m, parent);
    struct member **slot = &t->hash[slot_of(t, pid)];
    m->hash_next = *slot;
    *slot = m;
    m->index = t->n;
    t->at[t->n++] = m;
    if (t->n > t->hash_size)
        rehash(t);
    return m;
}

static void unlink_sibling(struct member *m)
{
    if (!m->parent)
        return;
    if (m->sibling_prev)
        m->sibling_prev->sibling_next = m->sibling_next;
    else
        m->parent->first_child = m->sibling_next;
    if (m->sibling_next)
        m->sibling_next->sibling_prev = m->sibling_prev;
    m->sibling_next = m->sibling_prev = NULL;
    m->parent = NULL;
}

void tree_set_parent(struct member *m, struct member *parent)
{
    unlink_sibling(m);
    m->parent = parent;
    if (!parent)
        return;
    m->sibling_next = parent->first_child;
    if (m->sibling_next)
        m->sibling_next->sibling_prev = m;
    parent->first_child = m;
    parent->had_child = true;
    if (!baro_key_equal(m->row.parent, parent->row.key)) {
        m->row.parent = parent->row.key;
        m->row.info_version++;
    }
}

void tree_remove(struct tree *t, struct member *m)
{
    struct member **slot = &t->hash[slot_of(t, m->row.key.pid)];
    while (*slot != m)
        slot = &(*slot)->hash_next;
    *slot = m->hash_next;
    while (m->first_child) {
        struct member *child = m->first_child;
        tree_set_parent(child, NULL);
        child->force = true;
        child->heir = m;
        child->heir_epoch = t->epoch;
    }
    if (m->parent || m->heir_epoch != t->epoch)
        m->heir = m->parent;
    unlink_sibling(m);
    m->gone = true;
    t->at[m->index] = NULL;
    t->holes++;
}

void tree_release(struct tree *t, struct member *m)
{
    free(m->row.name);
    free(m->row.cmdline);
    free(m->base);
    m->row.name = m->row.cmdline = NULL;
    m->base = NULL;
    m->list_next = t->free;
    t->free = m;
}

size_t tree_compact(struct tree *t)
{
    size_t n = 0;
    for (size_t i = 0; i < t->n; i++) {
        if (!t->at[i])
            continue;
        t->at[n] = t->at[i];
        t->at[n]->index = n;
        t->rows[n] = &t->at[n]->row;
        n++;
    }
    t->n = n;
    t->holes = 0;
    return n;
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
    return true;
}

bool member_set_name(struct member *m, const char *name)
{
    return set_text(m, &m->row.name, name);
}

bool member_set_cmdline(struct member *m, const char *cmdline)
{
    m->row.cmdline_absent = BARO_PRESENT;
    return set_text(m, &m->row.cmdline, cmdline);
}
