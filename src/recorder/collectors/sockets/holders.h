/* SPDX-License-Identifier: Apache-2.0 */
/* The processes that hold a socket, by its inode, in one reading. Pure. */
#ifndef RECORDER_COLLECTORS_SOCKETS_HOLDERS_H
#define RECORDER_COLLECTORS_SOCKETS_HOLDERS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/map.h"

struct holder {
    uint32_t owner; /* an index */
    uint32_t next;  /* index + 1 of the one that started before it; 0: none */
};

struct held {
    uint32_t first; /* index of the holder that started first */
    uint32_t last;  /* index + 1, in struct holders, of the holder that started last */
};

struct holders {
    struct map by_inode; /* positions in held */
    struct held *held;
    size_t n_held, cap_held;
    struct holder *at;
    size_t n, cap;
};

void holders_done(struct holders *h);
void holders_clear(struct holders *h);
/* In the order in which the processes started. Returns -ENOMEM, or 0. */
int holders_add(struct holders *h, uint32_t owner, uint32_t inode);
/* Returns NULL if no process holds the socket. */
const struct held *holders_find(const struct holders *h, uint32_t inode);
bool holders_are_several(const struct holders *h, const struct held *held);

#endif
