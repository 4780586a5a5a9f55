/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Mutants of tapes: a tape is taken apart down to its records, changed at one or more places, and put together again
 * with right zstd streams, CRCs and index, so that the change reaches the code behind these checks.
 */
#ifndef FUZZ_MUTATE_H
#define FUZZ_MUTATE_H

#include <stdlib.h>

#include "base/buf.h"
#include "base/span.h"
#include "libbaro/tape/format.h"

struct rng {
    uint64_t state;
};
/* One call in an expression at most: the order of two is the compiler's, and a mutant must be the same in each build.
 * */
uint64_t rng_next(struct rng *r);
size_t rng_below(struct rng *r, size_t n); /* 0 for n == 0 */
static inline bool rng_one_in(struct rng *r, size_t n)
{
    return rng_below(r, n) == 0;
}
uint64_t rng_number(struct rng *r); /* mostly one at which arithmetic goes wrong */

struct piece {
    uint8_t type, seq;
    bool unpacked;   /* of a block: t_ns and raw are used in place of payload */
    uint64_t offset; /* in the seed; 0: it was not there */
    uint64_t t_ns;
    struct buf payload, raw;
    uint32_t len_cut; /* the head claims so many bytes of payload less */
};

struct parts {
    uint8_t preamble[TAPE_PREAMBLE_SIZE];
    struct piece *at;
    size_t n, cap;
    bool keep_index; /* as it is: it is wrong where something before it has changed */
};

bool parts_parse(struct parts *p, struct span file);
void parts_write(struct parts *p, struct buf *out);
void parts_done(struct parts *p);
/* Puts a copy of a piece in front of the one at position to. from need not belong to p. */
void parts_insert(struct parts *p, size_t to, const struct piece *from);
void parts_remove(struct parts *p, size_t i);
struct piece *parts_find(struct parts *p, enum frame_type type,
                         struct rng *r); /* one of that type; NULL: there is none */

void buf_replace(struct buf *b, size_t at, size_t cut, const void *with, size_t len);
bool schema_unpack(const struct buf *payload, struct buf *ret);
void schema_pack(struct buf *payload, const struct buf *plain);

/* Changes bytes somewhere in [from, to) of b, and returns how much longer b is then. */
ptrdiff_t mutate_bytes(struct buf *b, size_t from, size_t to, struct rng *r);
/* Replaces a text in [from, to): a byte of length and so many printable bytes. */
ptrdiff_t mutate_text(struct buf *b, size_t from, size_t to, struct rng *r);

/* Makes a mutant of a seed. other: a tape of which pieces are taken in. */
void mutate(struct span seed, struct span other, struct rng *r, struct buf *ret);
void mutate_parts(struct parts *p, struct parts *other, struct rng *r); /* what is inside */
void mutate_file(struct buf *file, struct rng *r);                      /* bytes of the file, CRCs not redone */

/* Readers. Each is given the path of a mutant. */
size_t readers_count(void);
const char *reader_name(size_t i);
int reader_run(size_t i, const char *path); /* 0; or an exit status that no command has */

#endif
