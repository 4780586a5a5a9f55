/* SPDX-License-Identifier: Apache-2.0 */
/* What the commands that write tapes share. */
#ifndef PROGRAMS_BARO_TAPE_COPYING_H
#define PROGRAMS_BARO_TAPE_COPYING_H

#include "baro/baro.h"
#include "baro/writer.h"
#include "programs/common/cli.h"

/* Called for each record in order. Should it be copied? */
typedef bool copy_choice(void *context, const struct baro_record *record);

/* Copies a tape from its beginning. choose NULL: all of it. Returns the exit status; failures are reported. */
int copy_tape(const struct cli *cli, struct baro_tape *tape, const char *path,
              const struct baro_writer_options *options, copy_choice *choose, void *context);
/* Says what the copy lacks. */
void copying_notes(const struct cli *cli, const struct baro_tape *tape, const struct baro_writer *w);

#endif
