/* SPDX-License-Identifier: Apache-2.0 */
/* Processes that share memory: by how much the pss of a member may be wrong because others have changed since it was
 * read. The files that read members report what has changed; pss.c decides what is read again. */
#ifndef RECORDER_COLLECTORS_PROCESSES_PSS_SHARING_H
#define RECORDER_COLLECTORS_PROCESSES_PSS_SHARING_H

#include "recorder/collectors/processes/pss.h"

#define SHORT_LIVED (30 * NS_PER_MS) /* many processes end earlier: the helper reads only those that stay */
#define STALE_PART 16u               /* a possible error of less than a sixteenth is not worth a read */

/* The member appeared, or grew or shrank by this many bytes. */
void sharing_note_moved(struct memory *y, const struct member *m, uint64_t bytes);
/* Notes that the member was read. It may have fewer pages of files than when it was read before. */
void sharing_note_files(struct memory *y, struct member *m);
/* The member gives up its memory; is_done: it is a zombie, or does not exist any more. Its row has its last values. */
void sharing_note_left(struct memory *y, struct member *m, bool is_done);

/* Returns the memory that the member shares, each page divided by the number of processes that map it; all of its pss
 * if uss is not asked for. */
uint64_t sharing_part(const struct member *m);
/* Returns by how many bytes its pss may be wrong. */
uint64_t sharing_uncertain(struct memory *y, const struct member *m);
/* May the member's pss be wrong by so much that it should be read again? sharing_is_stale_by_family(): because of
 * processes of its program or family? sharing_is_stale_by_family(): because of processes of its program or family? */
bool sharing_is_stale(struct memory *y, const struct member *m);
bool sharing_is_stale_by_family(struct memory *y, const struct member *m);
/* Notes that the helper is asked for the member's pss. */
void sharing_note_asked(struct member *m);
/* Notes that the member's pss was read. was_known: its pss before that was not stale. */
void sharing_note_change(struct memory *y, const struct member *m, bool was_known);
void sharing_note_read(struct memory *y, struct member *m);

#endif
