/* SPDX-License-Identifier: Apache-2.0 */
/* What a list says of a tape: its header and its end, which are read without the rest of it. As bytes it can be kept
 * elsewhere (programs/baro-log/catalogue.h). */
#ifndef PROGRAMS_COMMON_TAPE_HEAD_H
#define PROGRAMS_COMMON_TAPE_HEAD_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "baro/runs.h"
#include "base/buf.h"

#define TAPE_ID_SIZE 33u
#define ENDED_BY_SIZE 24u

struct tape_head {
    struct tape_head_numbers {
        int64_t start_ns; /* realtime */
        uint64_t last_ns, command_start_ns, command_end_ns;
        int32_t status;
        uint32_t n_argv, n_tags;
        uint8_t state; /* enum baro_tape_state */
        bool ended, status_known, detached, complete;
        char id[TAPE_ID_SIZE];
        char ended_by[ENDED_BY_SIZE]; /* the limit of `baro run --limit` that ended it; "": none */
    } is;
    const char *line;        /* its name, else its command as for a shell; attached: that of the first target; or "" */
    const char *title;       /* its name or "" */
    const char *pids;        /* "12, 34": those that it was attached to, or "" */
    const char *host;        /* the machine's name */
    const char *argv, *tags; /* the first of each; tape_head_next() */
    char *text;              /* has all of these */
    size_t len;
    char *error; /* why the tape can't be read; all else is 0 */
};

/* Reads it from a tape, which is moved. Returns 0 or a negative code. */
int tape_head_read(struct baro_tape *tape, struct tape_head *ret, struct baro_error *err);
void tape_head_done(struct tape_head *h);

static inline const char *tape_head_next(const char *text)
{
    const char *c = text;
    while (*c)
        c++;
    return c + 1;
}

/* How long the job took; as far as the tape goes, if its end is not on it. */
static inline uint64_t tape_head_wall_ns(const struct tape_head *h)
{
    uint64_t end_ns = h->is.ended && h->is.command_end_ns ? h->is.command_end_ns : h->is.last_ns;
    return end_ns > h->is.command_start_ns ? end_ns - h->is.command_start_ns : 0;
}

/* The value of a tag; NULL: it has no such tag. */
const char *tape_head_tag(const struct tape_head *h, const char *key);
bool tape_head_has_tag(const struct tape_head *h, const char *wanted); /* KEY=VALUE */
/* Did the command fail, or was the recording cut off? */
bool tape_head_failed(const struct tape_head *h);

/* As bytes, and back. Returns false for bytes that are none, or without memory. */
void tape_head_pack(const struct tape_head *h, struct buf *ret);
bool tape_head_unpack(const void *at, size_t len, struct tape_head *ret);

#endif
