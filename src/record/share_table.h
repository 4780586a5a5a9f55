/* SPDX-License-Identifier: Apache-2.0 */
/* Which recorders follow a process, by pid. Several may follow the same one. No system calls. */
#ifndef RECORD_SHARE_TABLE_H
#define RECORD_SHARE_TABLE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct share_client;

struct share_entry {
    int32_t pid;
    bool ended, counted; /* its exit was reported; what it had used was reported */
    bool foreign;        /* it has become another user's */
    uint64_t since_ns;   /* CLOCK_MONOTONIC: it began then, to 20 ms; earlier events are of another process */
    struct share_client *client;
    struct share_entry *next;             /* in its slot */
    struct share_entry *before, *after;   /* of the same recorder */
};

struct share_table {
    struct share_entry **hash, *spare;
    size_t size, n;
};

int share_table_init(struct share_table *t); /* 0 or -ENOMEM */
void share_table_done(struct share_table *t);

/* The first entry with this pid, and the one after e with the same pid. An entry may be removed once its successor is
 * known. */
struct share_entry *share_table_first(const struct share_table *t, int32_t pid);
struct share_entry *share_table_next(const struct share_entry *e);
struct share_entry *share_table_find(const struct share_table *t, int32_t pid, const struct share_client *c);
/* Before entries are added: a table that is full gets more slots, which changes the order of entries. */
void share_table_make_room(struct share_table *t);
/* Adds it to *list, the first entry of its recorder; entries that others have stay in their order. Returns false if out
 * of memory. */
bool share_table_add(struct share_table *t, int32_t pid, uint64_t since_ns, struct share_client *c,
                     struct share_entry **list);
void share_table_remove(struct share_table *t, struct share_entry *e, struct share_entry **list);

#endif
