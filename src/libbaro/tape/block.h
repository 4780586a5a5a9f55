/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The state that writer and reader keep within a block, and the coding of infos, exits and events. The state is zero at
 * the start of a block, so that a block can be read without the blocks before it.
 */
#ifndef LIBBARO_TAPE_BLOCK_H
#define LIBBARO_TAPE_BLOCK_H

#include "base/span.h"
#include "libbaro/sample/sample.h"
#include "libbaro/tape/row_encoding.h"

enum { CMDLINE_CUT = 256 };

struct block {
    uint64_t t_ns, step_ns; /* time of the last sample; its distance to the one before */
    uint32_t id;
    int32_t pid;
    uint64_t start, first_ns; /* those of the last info or exit */
    struct row fresh, exit; /* rows of the last new process and the last exit: the next ones are differences to them */
};

/* The machine's record (tag 5) has the kinds from the host to the control groups; each later kind has records of its
 * own (tag 8). */
enum { MACHINE_KINDS = BARO_KIND_CGROUP + 1 - BARO_KIND_HOST, ENTITIES_MAX = 1 << 16 };

/* A limit on the rows of all kinds in records of their own together: a row counts as its number of columns plus
 * ROW_WEIGHT. Example: a row of 12 columns counts as 16, so there may be 16384 of them. */
enum { ROW_WEIGHT = 4, WEIGHT_MAX = 1 << 18 };

enum exit_flag { EXIT_SAMPLED = 1, EXIT_STATUS = 2, EXIT_TEXTS = 4 };

enum cmdline_form { CMDLINE_NONE, CMDLINE_WHOLE, CMDLINE_FRONT, CMDLINE_FORM_MAX };

/* cut: writes only the first bytes of the command line, because an earlier block has the whole one. */
void info_write(struct buf *out, struct block *b, const struct baro_process *p, bool cut);
/* texts_known: name and command line are those of the process with this id in the last sample of this block. */
void exit_write(struct buf *out, struct block *b, const struct tape_columns *c, const struct baro_exit *e,
                bool texts_known);
/* attributes: written by attributes_write(); empty: none. */
void event_write(struct buf *out, const struct block *b, const struct baro_event *e, struct span attributes);

/* whole: writes owner and attributes, too, which a machine's record does not have. */
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
    bool known; /* the texts are those of the process in the last sample */
    struct span name, cmdline;
    enum cmdline_form form;
};

bool scan_byte(struct span *in, unsigned *ret);
bool info_scan(struct span *in, struct block *b, struct info *ret);
bool entity_info_scan(struct span *in, uint32_t *last_id, bool whole, struct entity_info *ret);
/* Fills all members except the values, which are in b->exit afterwards. */
bool exit_scan(struct span *in, struct block *b, const struct tape_columns *c, struct baro_exit *ret,
               struct exit_texts *ret_texts);
bool event_scan(struct span *in, const struct block *b, struct baro_event *ret, struct span *ret_text,
                struct span *ret_attributes);

/* attribute.c. Attributes that exceed the limits of sample.h are left out. */
void attributes_write(struct buf *out, const struct baro_attribute *at, size_t n);
/* Takes an attributes list from the front of `in`. Returns false if it is damaged. */
bool attributes_scan(struct span *in, struct span *ret);
/* Counts the attributes of known types in such a list, and the bytes of their texts. */
size_t attributes_count(struct span in, size_t *ret_bytes);
/* Fills arrays of the sizes that attributes_count() gave. */
void attributes_fill(struct span in, struct baro_attribute *to, char *texts);

bool scan_text(struct span *in, struct span *ret); /* a varint length and as many bytes, none of them NUL */

#endif
