/* SPDX-License-Identifier: Apache-2.0 */
/* The inside of a cursor, shared by the files that make it: cursor.c, file.c, decode.c, seek.c, at.c, get.c. */
#ifndef TAPE_CURSOR_H
#define TAPE_CURSOR_H

#include <zstd.h>

#include "baro/tape.h"
#include "base/buf.h"
#include "base/span.h"
#include "tape/block.h"
#include "tape/format.h"
#include "tape/schema.h"

struct extras {
    struct baro_extra view;
    uint64_t value[COLUMNS_MAX];
    uint8_t absent[COLUMNS_MAX];
};

static inline void view_extras(struct extras *e, const struct tape_kind *k)
{
    e->view = (struct baro_extra){kind_extras(k), e->value, e->absent};
}

struct tape_process {
    struct baro_process p; /* first: samples point to it */
    struct extras *extra;  /* NULL if the tape has none */
    struct tape_process *next_free;
};

struct tape_entity {
    struct baro_entity e;  /* first: lists point to it */
    struct extras *extra;  /* NULL if the tape has none */
    struct tape_entity *next_free;
    uint64_t values[];     /* and as many reasons */
};

/* The entities of one kind at the cursor's position. */
struct kind_state {
    struct baro_declared view; /* of a kind that only the tape has */
    struct baro_entity **at;
    size_t n, cap;
    struct tape_entity *free;
    bool used;  /* in this block */
    bool whole; /* infos have owner and attributes */
    uint64_t weight; /* of the rows, in the cursor's entity_weight */
    struct kind_block block;
};

struct tape_patch {
    uint64_t at;
    size_t len;
    uint8_t *bytes;
};

struct tape_block {
    uint64_t t_ns, offset;
};

struct baro_tape {
    int fd;
    const uint8_t *memory;  /* the whole tape, borrowed; NULL: it is read through fd */
    uint64_t size;          /* of the file when it was looked at last */
    int inotify_fd;            /* inotify: it was written to; -1: none */
    uint64_t seen_size;     /* wait.c: when it was waited for last, */
    uint64_t grown_ns;      /* and when it had grown then; 0: never waited for */
    bool abandoned;         /* nobody writes it any more, and it has no end */
    uint64_t present;       /* bytes of it that are there: a sparse file has less than its size */
    uint64_t wasted;        /* bytes that were read for frames which turned out to be none */
    uint64_t cpu_until_ns;  /* of this process's CPU time; reading fails with -ETIME from then on. 0: no limit */
    uint64_t pos;           /* of the next frame */
    uint64_t stop_at;       /* frames from here on are not read; 0: all are */
    uint64_t first;         /* of the first frame behind header and schema */
    struct frame_seed seed;
    struct tape_patch *patches; /* bytes of the file that were damaged, and are known again */
    size_t n_patches;
    uint64_t repair_work;
    bool front_repaired;    /* or it was tried */
    bool may_go_on;         /* no more was damaged than what stands between two frames of a block */
    struct buf window;      /* bytes of the file from window_at on */
    uint64_t window_at;
    uint64_t scan_end;      /* behind pos no good frame begins before this */

    struct baro_header header;
    struct schema schema;

    ZSTD_DCtx *zstd;
    struct buf raw;         /* one frame, decompressed */
    struct buf low;         /* the bits beside it */
    struct bits_in bits;
    struct span rest;       /* its records not yet delivered */
    uint64_t frame_size;    /* of that frame in the file */
    bool block_good;        /* the block's frames so far were all read */
    uint8_t seq;            /* which comes next */
    uint64_t raw_total, packed_total; /* of the block */
    uint64_t raw_read, packed_read;   /* of all blocks since the last jump to another place */
    struct block block;

    struct baro_process **processes;
    size_t n, cap;
    struct baro_process **old; /* of the block before, for their command lines */
    size_t n_old, old_next, cap_old;
    struct tape_process *free;
    struct kind_state *kinds[TAPE_KINDS_MAX]; /* of the host there is one entity. NULL: none was read so far */
    struct baro_declared *declared[SCHEMA_KINDS + DECLARED_MAX]; /* the sample's view of them */
    uint64_t entity_weight; /* of those in records of their own: see WEIGHT_MAX */
    struct baro_sample sample;
    uint64_t *moved;        /* of the sample: a bit for each process whose row it has */
    size_t cap_moved;       /* bits */
    uint64_t sample_ns;     /* of the last sample that was delivered */
    bool sample_given;
    struct extras job_extra, self_extra, exit_extra;
    struct baro_exit exit;
    struct baro_event event;
    struct buf text;        /* of the exit or event */
    struct buf attributes;  /* of the event, with their texts */
    struct baro_limits limits; /* the last ones; of the header until there are any */
    bool limits_told;

    uint64_t last_t_ns, damage;
    bool complete;

    struct tape_block *blocks; /* for seeking */
    size_t n_blocks, cap_blocks;
    uint64_t walked;        /* up to where blocks are known */
    bool index_tried;
};

/* file.c */
enum frame_state { FRAME_GOOD, FRAME_BAD, FRAME_SHORT /* it may go on behind the end of the file */ };
/* at: offset in the file. *ret_payload is borrowed until the next call. Returns the state or -errno. */
int file_frame(struct baro_tape *t, uint64_t at, struct frame_head *ret, const uint8_t **ret_payload);
/* Looks at a frame's head and up to peek bytes of its payload, without its CRC. */
int file_peek(struct baro_tape *t, uint64_t at, size_t peek, struct frame_head *ret, const uint8_t **ret_payload);
/* The next good frame at or behind from. Returns 1, 0 if there is none (yet), -errno. */
int file_find(struct baro_tape *t, uint64_t from, uint64_t *ret_at);
/* At least need bytes from at on, if the file has them; *ret_len is how many there are. */
int file_view(struct baro_tape *t, uint64_t at, size_t need, const uint8_t **ret, size_t *ret_len);
int file_look(struct baro_tape *t); /* the size; -errno */

/* repair.c. A frame that is damaged, and the next good one: 1 if it can be read now, 0, or -errno. */
int repair_frame(struct baro_tape *t, uint64_t frame, uint64_t next);
int repair_front(struct baro_tape *t); /* what stands before the first block: the same */
void repair_apply(const struct baro_tape *t, uint64_t at, uint8_t *bytes, size_t len);
void repair_done(struct baro_tape *t);
int file_in_time(const struct baro_tape *t); /* 0, or -ETIME */


/* decode.c: 1 a record, 0 the frame has no more, BARO_E_CORRUPT, -ENOMEM. */
int decode_start(struct baro_tape *t, const struct frame_head *head, const uint8_t *payload);
int decode_next(struct baro_tape *t, struct baro_record *ret);
void decode_reset(struct baro_tape *t);
void decode_done(struct baro_tape *t);

/* state.c: applies a sample's record and rows. */
int state_sample(struct baro_tape *t, struct span body);
int state_rows(struct baro_tape *t, struct span body, size_t *next);
void state_new_block(struct baro_tape *t);
void state_forget_old(struct baro_tape *t);
void state_done(struct baro_tape *t);

/* entities_decode.c: applies a record of the machine (tag 6), of a kind's declaration (8) or of its entities (9). */
int state_machine(struct baro_tape *t, struct span body);
int state_declare(struct baro_tape *t, struct span body);
int state_entities(struct baro_tape *t, struct span body);
void entities_show(struct baro_tape *t); /* in the sample */
void entities_forget(struct baro_tape *t);
void entities_done(struct baro_tape *t);

/* Rows between the tape's columns and this library's metrics. */
void gather(const struct tape_kind *k, const uint64_t *value, const uint8_t *absent, const struct extras *extra,
            uint64_t *to_value, uint8_t *to_absent);
void scatter(const struct tape_kind *k, const uint64_t *from_value, const uint8_t *from_absent, uint64_t *value,
             uint8_t *absent, struct extras *extra);

#endif
