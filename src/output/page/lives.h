/* SPDX-License-Identifier: Apache-2.0 */
/* The lives of all processes of a tape: when each began, its parent, what it used, how it ended. Filled in one walk. */
#ifndef OUTPUT_PAGE_LIVES_H
#define OUTPUT_PAGE_LIVES_H

#include "baro/baro.h"
#include "base/names.h"

/* If there are too many processes, only those are kept that the page may show: the heaviest, and those that have not
 * ended. The others are only counted. A million processes take 40 MB. */
#define LIVES_THIN 100000u
#define LIVES_THIN_BYTES (12u << 20) /* bytes of names and command lines */
#define LIVES_BY_CPU 20000u
#define LIVES_BY_OTHER 5000u /* by memory, and by how long they lived */
#define LIVES_FAILED 100u
#define LIVES_MOST 400000u /* further ones are left out at once */
#define LIVES_CMDLINE 401u /* bytes; a page shows fewer */
#define LIFE_NONE UINT32_MAX

enum life_has {
    LIFE_ENDED = 1,
    LIFE_STATUS = 2,
    LIFE_CPU = 4,
    LIFE_RSS = 8,
    LIFE_READ = 16,
    LIFE_WRITE = 32,
    LIFE_CMDLINE = 64,
    LIFE_RSS_IS_BOUND = 128, /* its peak of rss was read while it was alive, and it may have held more */
    LIFE_IO_IS_BOUND = 256   /* its I/O was read while it was alive, and it may have read or written more */
};

struct life {
    uint32_t name, cmdline; /* positions in lives.names */
    uint32_t label;         /* a label that tells it from others of its name; NAMES_NONE: none */
    int32_t pid, ppid, status;
    uint32_t parent; /* position of its parent; LIFE_NONE */
    uint32_t depth;
    unsigned has; /* enum life_has */
    uint64_t start_ticks, parent_start_ticks;
    uint64_t begin_ns, end_ns; /* since the tape began. If it has not ended, end_ns is the last sample */
    uint64_t cpu_ns, rss_peak_bytes;
    uint64_t read_bytes, write_bytes;                        /* its own, without that of children that it waited for */
    uint64_t base_cpu_ns, base_read_bytes, base_write_bytes; /* attached: used before the recording */
    uint64_t read_ns;                                        /* when it was read last */
};

struct lives {
    struct life *at;
    uint32_t n;
    size_t room;
    uint64_t left_out, left_out_failed, left_out_cpu_ns; /* processes that were left out; how many of them ended with a
                                                          * status other than 0 */
    size_t thin_at, thin_at_bytes; /* how many processes and bytes there are when lives_are_many() is true next */
    uint64_t end_ns;               /* time of the last record */
    struct names names;
    struct map by_id; /* positions by the id that the tape gives a process */
    uint32_t *order;  /* after lives_finish(): all positions, each process after its parent, siblings by begin */
    const struct baro_header *header; /* borrowed */
    bool failed;                      /* out of memory */
    struct {
        int process_cpu, process_rss, process_rss_peak, process_read, process_write, process_children;
        int exit_cpu, exit_rss_peak, exit_rss_is_bound, exit_read, exit_write, exit_io_is_bound, exit_elapsed;
    } metric;
};

void lives_init(struct lives *l, const struct baro_header *header);
void lives_done(struct lives *l);
void lives_add(struct lives *l, const struct baro_record *record);
bool life_has_failed(const struct life *life);
bool lives_are_many(const struct lives *l);
/* Removes the lighter processes, except those in `keep`, which it changes. The order stays. Returns an array, to be
 * freed, with the new position of each old one (LIFE_NONE: removed); NULL if out of memory. */
uint32_t *lives_thin(struct lives *l, bool *keep);
/* Sets the parents of all. Returns 0 or -ENOMEM. */
int lives_find_parents(struct lives *l);
/* Finds parents and the order. Returns 0 or -ENOMEM. */
int lives_finish(struct lives *l);

/* Gives each process its label, after lives_finish(): labels.c. Returns 0 or -ENOMEM. */
int lives_label(struct lives *l);

/* The position of a process of a sample; LIFE_NONE if it was left out. */
uint32_t lives_find(const struct lives *l, uint32_t id);

#endif
