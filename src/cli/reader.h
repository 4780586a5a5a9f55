/* SPDX-License-Identifier: Apache-2.0 */
/* What the commands that read tapes share. */
#ifndef CLI_READER_H
#define CLI_READER_H

#include "baro/tape.h"
#include "cli/cli.h"
#include "encode/row.h"
#include "sample/sample.h"

/* Finds and opens the tape that a user named (NULL: @last). Returns 0, or the exit status of a failure that was said.
 */
int reader_open(const struct cli *cli, const char *name, struct baro_tape **ret, struct buf *ret_path);

const char *reader_state_name(enum baro_tape_state state); /* "ended", "running", "cut off" */

/* Waits until a growing tape has more to read. False: it has its end, was removed or replaced, or nobody writes it any
 * more, and all of it was read. */
bool reader_wait(struct baro_tape *tape);

/* Names of users, from /etc/passwd alone: NSS would need shared objects. Fits row.user. */
struct users {
    struct buf text;
};
const char *users_name(void *users, uint32_t uid);
void users_done(struct users *u);

/* How the recording of a tape ended, found without reading all of it. */
struct reader_end {
    uint64_t last_ns;    /* of the last sample; 0: none */
    uint64_t end_ns;     /* of the last sample, or the end of the command where that is later */
    bool ended, status_known, detached;
    int status;
    bool complete;       /* has its end mark */
};
int reader_end(struct baro_tape *tape, struct reader_end *ret, struct baro_error *err);

/* Words of an object or a list of numbers and names, as "0.53" or "?" for people. */
void reader_cores(struct buf *b, double cores);

#endif
