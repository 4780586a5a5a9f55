/* SPDX-License-Identifier: Apache-2.0 */
/* What the commands that read tapes share. */
#ifndef PROGRAMS_COMMON_TAPE_ARGS_H
#define PROGRAMS_COMMON_TAPE_ARGS_H

#include <limits.h>

#include "baro/baro.h"
#include "output/rows/row.h"
#include "programs/common/cli.h"

struct reader_path {
    char at[PATH_MAX];
};

/* Finds the tape that a user named (NULL: @last): a file, a folder of segments, or a folder with one tape in it.
 * Returns 0 or a negative code. */
int reader_find(const char *name, struct reader_path *ret, struct baro_error *err);
/* Opens the tape at a path, with the tasks of --task and --tasks; with --from and --to the stretch of it
 * (stretch_open()). All that reads a tape opens it with this. Returns 0 or a negative code. */
int reader_open_path(const struct settings *s, const char *path, struct baro_tape **ret, struct baro_error *err);
/* Finds and opens the tape that a user named (NULL: @last). Returns 0, or the exit status of a failure that was
 * reported. _whole: without tasks, and all of it. */
int reader_open_whole(const struct cli *cli, const char *name, struct baro_tape **ret, struct reader_path *ret_path);
/* Notes the segments of a folder that can't be read, or are of another recording: they are passed over. from, to: of a
 * stretch alone (settings); NULL: no such edge. */
void reader_note_segments(const struct cli *cli, const char *path, const char *from, const char *to);
int reader_open(const struct cli *cli, const char *name, struct baro_tape **ret, struct reader_path *ret_path);

/* Reads of a folder of segments only what is around the moment of --at: sets --from, --to and --at. ret_texts has what
 * these then point to. Returns 0 or a negative code. */
struct stretch_around;
int reader_around(struct settings *s, const char *path, uint64_t before_ns, uint64_t after_ns,
                  struct stretch_around *ret_texts, struct baro_error *err);

/* Waits until a growing tape has more to read. Returns false if all of it was read, and the tape is complete, was
 * removed or replaced, or has no writer any more. */
bool reader_wait(struct baro_tape *tape);

/* Names of users. The last ones are kept, because the rows of a job tend to have the same few. users_name() fits
 * row.user. All-zero at first. */
#define USERS_KEPT 16
struct users {
    struct {
        uint32_t uid;
        bool known;
        char name[64]; /* "": there is none */
    } kept[USERS_KEPT];
    unsigned next;
};
const char *users_name(void *users, uint32_t uid);

/* Cores as text for people, such as "0.53". */
void reader_cores(struct buf *b, double cores);

#endif
