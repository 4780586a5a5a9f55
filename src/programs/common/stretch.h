/* SPDX-License-Identifier: Apache-2.0 */
/* A stretch of a recording: what `baro trim` copies, and what readers read with --from and --to. */
#ifndef PROGRAMS_COMMON_STRETCH_H
#define PROGRAMS_COMMON_STRETCH_H

#include "baro/baro.h"
#include "baro/writer.h"

struct stretch {
    uint64_t from_ns, to_ns;         /* both included; 0 and UINT64_MAX: from the start, to the end */
    bool begins_later, ends_earlier; /* samples before it, after it, are left out */
    uint64_t known_ns;               /* phases that began before are known from then on; 0: from the start */
};

/* Finds the stretch between two times as users write them (moment.h); NULL: the start, the end. Each edge is the sample
 * nearest to it, so that stretches which follow each other add up to the whole: what two samples have between them is
 * of one stretch. Returns 0, or BARO_E_RANGE with a line that says what the tape has. */
int stretch_find(struct stretch *ret, struct baro_tape *tape, const char *from, const char *to, struct baro_error *err);
/* Sets the other members by the two times. Returns 0, or BARO_E_RANGE: the tape has no sample there. */
int stretch_edges(struct stretch *s, struct baro_tape *tape, struct baro_error *err);
/* Options of the writer for it. */
struct baro_writer_options stretch_options(const struct stretch *s);
/* Adds its records to a writer that was made with these options. timeline: of the tape, for phases that began before
 * it; NULL: not known. Samples before the stretch are not read, but for the beginning of the tape. */
int stretch_copy(const struct stretch *s, struct baro_tape *tape, const struct baro_timeline *timeline,
                 struct baro_writer *w, size_t *ret_samples, struct baro_error *err);

/* Finds the moment that a user named on a folder of segments, and writes it and a stretch around it as times that
 * the functions here take; so that a moment of a month is shown without reading all of it. Returns 1; 0: read the whole
 * tape, because it is a file, short, or the moment is its peak; or a negative code. */
#define STRETCH_TIME_SIZE 40
struct stretch_around {
    char at[STRETCH_TIME_SIZE], from[STRETCH_TIME_SIZE], to[STRETCH_TIME_SIZE];
    char hole[128]; /* a line for people, if a segment is missing or broken there; else "" */
};
void stretch_time(char ret[STRETCH_TIME_SIZE], uint64_t t_ns); /* such a time */
/* The stretch that a moment stands for: "12:31" for that minute, a time with seconds for half a minute around it. */
int stretch_moment(struct baro_tape *tape, const char *at, uint64_t *ret_from_ns, uint64_t *ret_to_ns,
                   struct baro_error *err);
int stretch_around(const char *path, const char *at, uint64_t before_ns, uint64_t after_ns, struct stretch_around *ret,
                   struct baro_error *err);

/* Opens the stretch of the tape at a path as a tape. It has a file without a name, in memory or, if it is large, in
 * $TMPDIR. The last few are kept: a reader that opens a tape twice makes no copy twice. */
int stretch_open(const char *path, const char *from, const char *to, struct baro_tape **ret, struct baro_error *err);

#endif
