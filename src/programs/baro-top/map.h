/* SPDX-License-Identifier: Apache-2.0 */
/* From a number (not 0) to a position: open addressing, made anew for each moment. */
#ifndef PROGRAMS_BARO_TOP_MAP_H
#define PROGRAMS_BARO_TOP_MAP_H

#include <stddef.h>
#include <stdint.h>

struct map {
    struct {
        uint32_t key; /* 0: free */
        uint32_t value;
    } * at;
    size_t mask, cap;
};

#define MAP_NONE SIZE_MAX

/* Empties it and makes room for so many. Returns 0 or -ENOMEM. */
int map_reset(struct map *m, size_t n);
void map_put(struct map *m, uint32_t key, size_t value); /* the last one counts */
size_t map_get(const struct map *m, uint32_t key);       /* MAP_NONE: not there */
void map_done(struct map *m);

#endif
