/* SPDX-License-Identifier: Apache-2.0 */
/* The next part of a tape in segments: a recorder goes on in a folder that another one has left. */
#ifndef RECORDER_SEGMENTS_PART_H
#define RECORDER_SEGMENTS_PART_H

#include "libbaro/tape/segments.h"
#include "recorder/loop/record.h"

struct baro_header;
struct baro_tape;

/* Opens the newest segment of a folder that can be read. Returns 0 or a negative code. */
int part_open_newest(int dir_fd, struct baro_tape **ret);

bool part_is_of_this_boot(const struct baro_header *h);

/* Fills what the next part needs to know of the one before. newest: its newest segment; last_ns: the time of its last
 * sample; number: of the first segment of the next part. */
void part_after(struct record_before *ret, const struct baro_tape *newest, uint64_t last_ns, uint32_t number);

/* Begins the next part of the tape in a folder: opens the folder, which nobody but this user and root may write to, and
 * makes its next segment. Returns the descriptor of the segment; -ENOENT if there is no such folder; -EBUSY if a
 * recorder is writing there; or another negative code. */
int part_begin(struct segments_writer *ret, struct record_before *ret_before, int parent_fd, const char *name,
               const char *path, const struct segments_keep *keep, struct baro_error *err);

#endif
