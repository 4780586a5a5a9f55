/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Maps keys, numbers other than 0, to numbers, with open addressing. A key is unique (a pid), or it is the hash of a
 * text: then several entries may have the same key, and the caller compares the texts:
 *
 *     for (uint64_t *i = map_find(m, key = map_hash(text, len)); i; i = map_next(m, key, i))
 *         if (strcmp(name[*i], text) == 0)
 *             return *i;
 *
 * A pointer to a value is valid until the next map_add() or map_clear(). Where memory matters, or a table must not fail
 * to grow, elements have a chain of their own instead (recorder/job/tree.c).
 */
#ifndef BASE_MAP_H
#define BASE_MAP_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct map_slot {
    uint64_t key; /* 0: free */
    uint64_t value;
};

struct map {
    struct map_slot *at;
    size_t n, size; /* size: 0 or a power of two; at most half of it is used */
};

uint64_t map_hash(const void *at, size_t len); /* never 0 */

/* Returns the first value with the key, or the next one after `at`; NULL if there is none. */
uint64_t *map_find(const struct map *m, uint64_t key);
uint64_t *map_next(const struct map *m, uint64_t key, uint64_t *after);
/* Adds a value, even if the key has one already. Returns NULL if out of memory; then nothing has changed. */
uint64_t *map_add(struct map *m, uint64_t key, uint64_t value);
/* Sets the value of a key that has at most one. Returns false if out of memory. */
bool map_set(struct map *m, uint64_t key, uint64_t value);
/* Makes room for this many values in total. Returns false if out of memory. */
bool map_reserve(struct map *m, size_t n);
void map_clear(struct map *m); /* keeps its memory */
void map_done(struct map *m);

#endif
