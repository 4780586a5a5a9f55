/* SPDX-License-Identifier: Apache-2.0 */
/* The private parts of a cursor, for the files of this folder that read. */
#ifndef LIBBARO_TAPE_CURSOR_H
#define LIBBARO_TAPE_CURSOR_H

#include <stdatomic.h>
#include <zstd.h>

#include "baro/tape.h"
#include "base/buf.h"
#include "base/span.h"
#include "libbaro/tape/block.h"
#include "libbaro/tape/format.h"
#include "libbaro/tape/schema.h"
#include "libbaro/tape/segments.h"

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
    struct baro_entity e; /* first: lists point to it */
    struct extras *extra; /* NULL if the tape has none */
    struct tape_entity *next_free;
    uint64_t values[]; /* followed by as many reasons (uint8_t) */
};

/* The entities of one kind at the cursor's position. */
struct kind_state {
    struct baro_declared view; /* for a kind that only the tape has */
    struct baro_entity **at;
    size_t n, cap;
    struct tape_entity *free;
    bool whole;       /* its infos have owner and attributes */
    uint64_t weight;  /* the part of its rows in the cursor's entity_weight */
    uint32_t last_id; /* id in the last info */
};

struct tape_block {
    uint64_t t_ns, offset;
};

/* A part of the tape: what one recorder has written (series.c). */
struct series_part {
    uint32_t first; /* the number of its first segment */
    uint64_t start_monotonic_ns;
    int64_t start_realtime_ns;
    char boot_id[37];
    uint64_t shift_ns;                         /* from the beginning of the first part to that of this one */
    uint32_t id_base;                          /* ids of its processes go on from here */
    uint64_t job[JOB_MAX], self[RECORDER_MAX]; /* the last rows of the parts before */
    bool cpu_is_whole; /* the CPU time of the job lacks nothing that it used between the parts */
    bool is_machine;   /* the job is all processes of a machine */
};

/* The segments of a tape, and the one that is read. */
struct tape_segments {
    int dir_fd;
    struct series_part *parts; /* those that were seen, of which `part` is read */
    size_t n_parts, cap_parts, part;
    size_t n_seen;          /* of so many segments it is known which part they are of */
    struct schema *schemas; /* of parts that other versions wrote, without the one that is in use */
    size_t n_schemas;
    struct segments list;
    size_t current;         /* position in the list of the one that is read */
    size_t next;            /* position of the one after it; 0: none was seen so far */
    uint64_t skipped_bytes; /* size of the segments between the two, which cannot be read */
    bool stay;              /* the cursor does not leave this segment at its end */
};

/* What a cursor decodes. Other records are skipped. */
enum tape_part {
    PART_ALL,
    PART_MACHINE, /* samples without processes, events, limits; no exits */
    PART_JOB,     /* samples with job and recorder only */
    PART_EVENTS   /* events and limits; times of samples */
};

/* A tape in memory. Cursors that were opened on the same tape share it, also in different threads; the last one frees
 * it. */
struct tape_bytes {
    atomic_size_t users;
    size_t size;
    uint8_t at[];
};

struct baro_tape {
    int fd;
    enum tape_part part;
    struct tape_segments *segments; /* NULL: the tape is one file */
    struct tape_bytes *bytes;       /* the whole tape; NULL: it is read through fd */
    const uint8_t *memory;          /* those of `bytes` */
    uint64_t size;                  /* size of the file when it was read last */
    int inotify_fd;                 /* inotify descriptor, readable when the tape was written to; -1: none */
    int watch;                      /* its watch of the file */
    uint64_t seen_size;             /* wait.c: its size at the last wait */
    uint64_t grown_ns;              /* wait.c: when it had last grown; 0: never waited for */
    bool abandoned;                 /* its recorder has ended, and it has no footer */
    uint64_t present;               /* bytes on disk: a sparse file has fewer than its size */
    uint64_t wasted;                /* bytes that were read as a frame and turned out to be none */
    /* limit on the CPU time of this thread: once it is reached, reads fail with -ETIME; 0: no limit */
    uint64_t cpu_until_ns;
    uint64_t pos;     /* offset of the next frame */
    uint64_t stop_at; /* frames from this offset on are not read; 0: no limit */
    uint64_t first;   /* offset of the first frame after header and schema */
    struct frame_seed seed;
    struct buf window; /* bytes of the file from window_at on */
    uint64_t window_at;
    uint64_t scan_end; /* no good frame begins between pos and this offset */

    struct baro_header header;
    struct schema schema;

    ZSTD_DCtx *zstd;
    struct buf raw;      /* one frame, decompressed */
    struct span rest;    /* the records of the frame that were not delivered yet */
    uint64_t frame_size; /* size of that frame in the file */
    bool block_good;     /* all frames of the block so far were read */
    uint8_t seq;         /* expected seq of the next frame */
    uint64_t raw_total;  /* bytes of the block so far, decompressed */
    struct block block;

    struct baro_process **processes;
    size_t n, cap;
    struct baro_process **old; /* processes of the previous block, for their command lines */
    size_t n_old, old_next, cap_old;
    struct tape_process *free;
    struct kind_state *kinds[TAPE_KINDS_MAX]; /* NULL: no entity was read so far. The machine has one entity */
    struct baro_declared *declared[SCHEMA_KINDS + DECLARED_MAX]; /* the sample's view of them */
    uint64_t entity_weight; /* weight of the rows in records of their own: see WEIGHT_MAX */
    struct baro_sample sample;
    uint64_t *moved;    /* for the sample: a bit for each process that has a row in it */
    size_t cap_moved;   /* bits */
    uint64_t sample_ns; /* time of the last sample that was delivered */
    bool sample_given;
    uint64_t job_raw[JOB_MAX], self_raw[RECORDER_MAX]; /* the last rows as the part has them, without those before */
    struct extras job_extra, self_extra, exit_extra;
    struct baro_exit exit;
    struct baro_event event;
    struct buf text;           /* texts of the exit or event */
    struct buf attributes;     /* attributes of the event, and their texts */
    struct baro_limits limits; /* the limits read last; those of the header before any were read */
    bool limits_delivered;

    /* seek.c, for baro_tape_tell(): the offset of a block, and how many samples, exits and events were delivered since
     * it began. tell_at is UINT64_MAX if it is not known. */
    uint64_t tell_at, tell_count;
    /* How far the wall clock is ahead at the cursor's position (FORMAT.md, tag 9); not known on older tapes. */
    bool ahead_known;
    int64_t ahead_ns;
    struct tape_clock *clock; /* realtime.c; NULL: not used so far */
    struct tape_tasks *tasks; /* labels.c */
    bool from_first;          /* all records were read from the first one on */
    uint64_t last_t_ns, damage;
    bool complete;

    struct tape_block *blocks; /* for seeking */
    size_t n_blocks, cap_blocks;
    size_t n_indexed;            /* how many of them, from the first on, are from the tape's index */
    uint64_t known_from, walked; /* the blocks between these offsets are known */
    bool index_tried;
};

/* cursor.c: opens another cursor on the same tape, before its first record, that decodes only a part of it. The two
 * cursors share nothing but the bytes of a tape in memory. The CPU time limit of the first cursor holds for the new
 * one, too. */
int tape_open_again(struct baro_tape **ret, const struct baro_tape *tape, enum tape_part part, struct baro_error *err);
/* cursor.c: reads what is before the first block of the file. Returns 0 or a negative code. */
int cursor_front(struct baro_tape *t, const char *name, struct baro_error *err);
/* wait.c: a path that leads to the open file. */
void cursor_path(const struct baro_tape *t, char ret[64]);

/* realtime.c: the wall clock at a time, by the block that has the time if possible. It does not move the cursor. */
int realtime_at(const struct baro_tape *t, uint64_t t_ns, int64_t *ret, struct baro_error *err);
/* realtime.c: frees what baro_tape_realtime_ns() keeps. */
void realtime_done(struct baro_tape *t);

/* labels.c: labels_open() takes the rules of the header, and labels_copy() those of another cursor. labels_take() sets
 * the tasks of the record that was read; returns 1 or a negative code. labels_restore() undoes it before the next
 * sample is decoded. labels_move(): the cursor was moved. */
int labels_open(struct baro_tape *t);
int labels_copy(struct baro_tape *to, const struct baro_tape *from, struct baro_error *err);
int labels_take(struct baro_tape *t, struct baro_record *ret, struct baro_error *err);
void labels_restore(struct baro_tape *t);
void labels_move(struct baro_tape *t, bool to_first);
void labels_done(struct baro_tape *t);

/* segment_read.c. These functions do nothing if the tape is one file. */
int segments_open(struct baro_tape *t, int dir_fd, const char *name, struct baro_error *err); /* takes dir_fd */
void segments_close(struct baro_tape *t);
/* Goes to the next segment at the end of a file. Returns 1; 0 if there is nothing more; or a negative code.
 * *ret_damage: bytes that were left out. */
int segments_go_on(struct baro_tape *t, uint64_t *ret_damage, struct baro_error *err);
/* Each goes to the beginning of a segment: the one that holds a time, the first, the last, or the previous one (1;
 * 0: there is none). Each returns a negative code on failure. */
int segments_enter_at(struct baro_tape *t, uint64_t t_ns, struct baro_error *err);
int segments_enter_end(struct baro_tape *t, bool first, struct baro_error *err);
int segments_enter_before(struct baro_tape *t, struct baro_error *err);
/* Enters the segment with this number; returns 0, or 1 if it was removed: then the next one is entered. */
int segments_enter_number(struct baro_tape *t, uint32_t number, struct baro_error *err);

/* segment_read.c: opens a segment as a tape of its own, with the same limit of CPU time. */
int segment_open(const struct baro_tape *t, size_t i, struct baro_tape **ret);

/* series.c */
int series_begin(struct baro_tape *t); /* the first segment was opened */
/* Finds the part of segment i, which has this header. Returns 0 or -ENOMEM. */
int series_find(struct baro_tape *t, size_t i, const struct baro_header *h, size_t *ret);
bool series_is_current(const struct baro_tape *t, const struct baro_header *h); /* is it of the part that is read? */
/* The part that is read; NULL: the first one, or the tape is one file. */
const struct series_part *series_part(const struct baro_tape *t);
void series_join(const struct series_part *p, struct baro_sample *s); /* adds what the parts before have */
/* Moves a time of a row from the beginning of the part to that of the tape; or back, before the row is decoded. */
void series_shift(const struct baro_tape *t, int id, uint64_t *value, const uint8_t *absent, bool back);
void series_done(struct tape_segments *s);

/* file.c */
enum frame_state { FRAME_GOOD, FRAME_BAD, FRAME_SHORT /* it may continue after the end of the file */ };
/* at: offset in the file. *ret_payload is borrowed until the next call. Returns the state or -errno. */
int file_frame(struct baro_tape *t, uint64_t at, struct frame_head *ret, const uint8_t **ret_payload);
/* Reads a frame's head and up to peek bytes of its payload, without checking its CRC. */
int file_peek(struct baro_tape *t, uint64_t at, size_t peek, struct frame_head *ret, const uint8_t **ret_payload);
/* Finds the next good frame at or after `from`. Returns 1, 0 if there is none (yet), or -errno. */
int file_find(struct baro_tape *t, uint64_t from, uint64_t *ret_at);
/* Gives at least `need` bytes from offset `at` on, if the file has them; *ret_len is how many there are. */
int file_view(struct baro_tape *t, uint64_t at, size_t need, const uint8_t **ret, size_t *ret_len);
int file_look(struct baro_tape *t); /* reads the size of the file; returns 0 or -errno */
/* Bytes of the file from offset `at` on, by the size that was read last; 0 if the file ends before `at`. Another
 * process may truncate the open file: its size may be less than any offset that is known. */
uint64_t file_rest(const struct baro_tape *t, uint64_t at);

/* block_find.c: where the file's blocks are. Each returns 0 or a negative code if nothing else is said. */
/* Finds the last block that begins at or before t_ns, and the one after it. Earlier blocks may stay unknown. */
int blocks_find(struct baro_tape *t, uint64_t t_ns);
int blocks_find_all(struct baro_tape *t);
int blocks_find_anew(struct baro_tape *t);  /* finds all blocks, without those that are known and without the index */
int blocks_read_index(struct baro_tape *t); /* reads the index if there is one and it was not read yet */
/* Does the file have a block with that time at the offset that the index has? Entries are checked when they are
 * used: checking all of them when the tape is opened would read a page of the file for each. */
bool block_holds(struct baro_tape *t, size_t i);
/* Finds the first good block between *at and end, and moves *at behind it. Returns 1, 0 if there is none, or a negative
 * code. */
int block_find(struct baro_tape *t, uint64_t *at, uint64_t end, struct tape_block *ret);

int file_in_time(const struct baro_tape *t); /* file.c: 0, or -ETIME */

/* decode.c. Return 1 for a record, 0 if the frame has no more, BARO_E_CORRUPT or -ENOMEM. */
int decode_start(struct baro_tape *t, const struct frame_head *head, const uint8_t *payload);
int decode_next(struct baro_tape *t, struct baro_record *ret);
/* Counts the samples up to t_ns in the frame that decode_start() began, by the times in their records. *ret_later:
 * there is one after t_ns. Decodes nothing else. Returns false if the frame is corrupt. */
bool decode_times(struct baro_tape *t, uint64_t t_ns, uint64_t *count, bool *ret_later);
void decode_reset(struct baro_tape *t);
void decode_done(struct baro_tape *t);

/* decode_processes.c: applies a sample's record and rows. */
int state_sample(struct baro_tape *t, struct span body);
int state_rows(struct baro_tape *t, struct span body, size_t *next);
void state_new_block(struct baro_tape *t);
void state_forget_old(struct baro_tape *t);
void state_clear(struct baro_tape *t); /* frees all rows, because the schema changes */
void state_done(struct baro_tape *t);

/* entities_decode.c: applies a record of the machine (tag 5), of a kind's declaration (7) or of its entities (8). */
int state_machine(struct baro_tape *t, struct span body);
int state_declare(struct baro_tape *t, struct span body);
int state_entities(struct baro_tape *t, struct span body);
void entities_show(struct baro_tape *t); /* puts the entities into the sample */
void entities_forget(struct baro_tape *t);
void entities_done(struct baro_tape *t);

/* Convert rows between the tape's columns and this library's metrics. */
void gather(const struct tape_kind *k, const uint64_t *value, const uint8_t *absent, const struct extras *extra,
            uint64_t *to_value, uint8_t *to_absent);
void scatter(const struct tape_kind *k, const uint64_t *from_value, const uint8_t *from_absent, uint64_t *value,
             uint8_t *absent, struct extras *extra);

/* Returns the number of the segment that is read; 0: the tape is one file. */
static inline uint32_t tape_segment(const struct baro_tape *t)
{
    return t->segments ? t->segments->list.at[t->segments->current].number : 0;
}

#endif
