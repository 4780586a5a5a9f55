/* SPDX-License-Identifier: Apache-2.0 */
/* A recording goes on in the folder of a recorder that has ended: the next part of the same tape (tape/series.c). */
#ifndef RECORDER_SEGMENTS_NEXT_PART_H
#define RECORDER_SEGMENTS_NEXT_PART_H

#include "libbaro/sample/sample.h"
#include "libbaro/tape/segments.h"
#include "recorder/loop/record.h"

struct baro_tape;

/* Opens the newest segment of a folder that can be read. Returns 0 or a negative code: BARO_E_EMPTY if there is none.
 */
int segments_newest(int dir_fd, struct baro_tape **ret);

/* Makes the first segment of the next part. h: the header of the newest segment; last_ns: the time of its last sample.
 * Returns the descriptor of the segment; -EBUSY if a recorder is writing there; or -errno. */
int segments_next_part(struct segments_writer *w, int parent_fd, const char *name, const struct baro_header *h,
                       uint64_t last_ns, struct segments_keep keep, struct record_before *ret, struct baro_error *err);

/* Was it made since the machine was started? */
bool header_is_of_this_boot(const struct baro_header *h);

#endif
