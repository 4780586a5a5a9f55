/* SPDX-License-Identifier: Apache-2.0 */
/* The inside of a writer, shared by the files that make it: writer.c (the file), encode.c (frames), pending.c (what
 * waits). */
#ifndef LIBBARO_WRITER_WRITER_STATE_H
#define LIBBARO_WRITER_WRITER_STATE_H

#include <zstd.h>

#include "base/buf.h"
#include "libbaro/tape/block.h"
#include "libbaro/tape/format.h"
#include "libbaro/writer/writer.h"

/* What the tape has of a living process so far. 10,000 of them take 3 MB. */
struct baseline {
    uint32_t id;
    uint32_t info_version;
    uint64_t read_ns;
    uint64_t texts; /* hash of name and command line as written in this block; 0: not in full */
    uint64_t value[PROCESS_MAX];
    uint8_t absent[PROCESS_MAX];
};

struct index_entry {
    uint64_t t_ns, offset;
};

enum { PENDING_MAX = 256 << 10, INDEX_MAX = 4096 };

struct pending {
    struct buf at; /* items, one after the other */
};

struct tape_writer {
    int fd;
    struct tape_io io;
    bool network; /* fdatasync after each frame */
    uint64_t cut; /* bytes that another process cut off the file */
    bool started; /* preamble, header and schema are in the file */
    bool failing;
    struct frame_seed seed; /* seed of the CRCs */
    uint64_t end;           /* end of the last whole frame, or of bytes after it that could not be truncated */

    ZSTD_CCtx *zstd; /* NULL: tape_writer_rest() */
    int window_log;
    bool dense;         /* tape_writer_dense() */
    struct buf preface; /* until it is written */
    struct buf record, frame;
    struct buf declaration;                   /* declaration of one kind, while it is written */
    struct tape_columns *columns[KIND_COUNT]; /* NULL: no sample has had the kind so far */

    struct baseline *base; /* in the order of the last sample */
    size_t n_base, cap_base;
    bool base_sorted;               /* ids ascend */
    uint64_t removals;              /* as in the last sample */
    struct entity_writer *entities; /* NULL until a sample has some */
    uint64_t job[JOB_MAX], self[RECORDER_MAX];
    uint8_t job_absent[JOB_MAX], self_absent[RECORDER_MAX];

    struct block *block;
    int64_t ahead_ns; /* of the wall clock: the numbers of the steps and suspends that were written */
    bool block_open;  /* the next frame may continue it */
    bool block_keyed; /* the block has a sample */
    uint8_t seq;
    uint64_t block_t_ns, key_bytes, delta_bytes;
    uint64_t raw;       /* bytes of this block so far, before compression */
    uint64_t raw_frame; /* raw, when this frame began */

    struct pending pending;
    struct baro_limits limits; /* the last ones; each block has them */
    uint64_t limits_t_ns;
    bool has_limits, limits_due;
    uint64_t lost_samples, lost_exits, lost_events;
    int lost_code;
    uint64_t good_t_ns; /* time of the last sample that reached the file */
    uint64_t n_samples, n_exits, n_events;

    struct index_entry *index;
    size_t n_index, cap_index;
    unsigned index_step, index_skipped; /* every index_step-th block has an entry */
};

/* Both return false if out of memory. */
bool writer_make_zstd(struct tape_writer *w);
bool writer_make_columns(struct tape_writer *w, enum baro_kind kind);

/* encode.c: makes w->frame, with head. s may be NULL. Returns 0 or -errno. */
int encode_frame(struct tape_writer *w, const struct baro_sample *s, uint64_t t_ns);
/* All that is before the first block. */
int encode_preface(struct buf *b, const struct baro_header *h, const uint8_t nonce[8]);
int encode_footer(struct tape_writer *w); /* makes w->frame */

/* rows.c: the ROWS records of a sample. fresh: the block has no sample yet. */
int encode_rows(struct tape_writer *w, const struct baro_sample *s, size_t n_kept, bool fresh);
int encode_record(struct tape_writer *w, enum record_tag tag); /* hands w->record on, compressed */

/* entities_encode.c: the record of the machine, if it was read since the last one; then those of later kinds, with
 * their declarations. Allocates only when its lists grow. */
int encode_machine(struct tape_writer *w, const struct baro_sample *s);
int encode_entities(struct tape_writer *w, const struct baro_sample *s);
void entities_new_block(struct entity_writer *e);
void entities_free(struct entity_writer *e);

/* pending.c */
void pending_exit(struct tape_writer *w, const struct baro_exit *e);
void pending_event(struct tape_writer *w, const struct baro_event *e);
struct pending_item {
    bool is_exit;
    struct baro_exit exit;
    struct baro_event event;
    struct span attributes; /* attributes of the event, as the tape has them */
};
/* Walks the items: *at is 0 at first. */
bool pending_next(const struct pending *p, size_t *at, struct pending_item *ret);
uint64_t pending_last_t(const struct pending *p, uint64_t otherwise);

uint64_t texts_hash(const char *name, const char *cmdline);
/* Grows the table of baselines; false without memory. */
bool base_reserve(struct tape_writer *w, size_t n);

#endif
