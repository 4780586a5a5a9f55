/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What both writer and reader remember within a block, and the coding of everything that is not a row: infos, exits,
 * events. At the start of a block all of it is zero, so that a block can be read without the blocks before it.
 */
#ifndef LIBBARO_TAPE_BLOCK_H
#define LIBBARO_TAPE_BLOCK_H

#include "base/span.h"
#include "libbaro/sample/sample.h"
#include "libbaro/tape/row.h"

enum { CMDLINE_CUT = 256 };

struct block {
    uint64_t t_ns, step_ns; /* of the last sample; its distance to the one before */
    uint32_t id;
    int32_t pid;
    uint64_t start, first_ns; /* of the last info or exit */
    struct row fresh, exit;   /* the last new process, the last exit: the next one is written as differences to it */
};

/* The machine's record (tag 6) has the kinds from the host to the control groups; each later kind has records of its
 * own (tag 9). */
enum { MACHINE_KINDS = BARO_KIND_CGROUP + 1 - BARO_KIND_HOST, ENTITIES_MAX = 1 << 16 };

/* The limit of all kinds in records of their own together: each row counts as its columns plus ROW_WEIGHT. A row of 12
 * columns counts as 16, so there may be 16384 of them. */
enum { ROW_WEIGHT = 4, WEIGHT_MAX = 1 << 18 };

enum exit_flag { EXIT_SAMPLED = 1, EXIT_STATUS = 2, EXIT_TEXTS = 4 };

enum cmdline_form { CMDLINE_NONE, CMDLINE_WHOLE, CMDLINE_FRONT, CMDLINE_FORM_MAX };

/* cut: the command line is written truncated, because the whole one is earlier on this tape. */
void info_write(struct buf *out, struct block *b, const struct baro_process *p, bool cut);
/* texts_known: name and command line are those of the living process with this id at the last sample of this block. */
void exit_write(struct buf *out, struct block *b, const struct tape_columns *c, const struct baro_exit *e,
                bool texts_known);
/* attributes: as attributes_write() made them; empty: none. */
void event_write(struct buf *out, const struct block *b, const struct baro_event *e, struct span attributes);

/* whole: with owner and attributes, which a machine's record does not have. */
void entity_info_write(struct buf *out, uint32_t *last_id, const struct baro_entity *e, bool whole);

/* Borrowed texts, not NUL-terminated. */
struct entity_info {
    uint32_t id, info_version;
    struct span name, label;
    struct baro_entity_owner owner;
    struct span attributes; /* as attributes_fill() takes them */
};
struct info {
    struct baro_process p; /* its texts and values are not set */
    struct span name, cmdline;
    enum cmdline_form form;
};
struct exit_texts {
    bool known; /* as those of the living process */
    struct span name, cmdline;
    enum cmdline_form form;
};

bool info_scan(struct span *in, struct block *b, struct info *ret);
bool entity_info_scan(struct span *in, uint32_t *last_id, bool whole, struct entity_info *ret);
/* The values are in b->exit then. */
bool exit_scan(struct span *in, struct block *b, const struct tape_columns *c, struct baro_exit *ret,
               struct exit_texts *ret_texts);
bool event_scan(struct span *in, const struct block *b, struct baro_event *ret, struct span *ret_text,
                struct span *ret_attributes);

/* attribute.c. Attributes that exceed the limits of sample.h are left out. */
void attributes_write(struct buf *out, const struct baro_attribute *at, size_t n);
/* Takes them from in; false if they are damaged. */
bool attributes_scan(struct span *in, struct span *ret);
/* Counts, in what attributes_scan() gave, the attributes of known types and the bytes of their texts. */
size_t attributes_count(struct span in, size_t *ret_bytes);
/* Fills as many attributes and bytes. */
void attributes_fill(struct span in, struct baro_attribute *to, char *texts);

bool scan_text(struct span *in, struct span *ret); /* length and bytes, none of them NUL */

#endif
