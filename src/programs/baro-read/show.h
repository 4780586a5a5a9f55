/* SPDX-License-Identifier: Apache-2.0 */
/* What the files of `baro show` share: the instant that is shown, and its two forms. */
#ifndef PROGRAMS_BARO_READ_SHOW_H
#define PROGRAMS_BARO_READ_SHOW_H

#include "output/rows/csv_json.h"
#include "programs/baro-top/feed.h"
#include "programs/baro-top/model.h"
#include "programs/baro-top/ui.h"
#include "programs/common/moment.h"
#include "programs/common/stretch.h"
#include "programs/common/tape_args.h"

struct show {
    struct cli *cli;
    const struct settings *settings;
    struct feed feed;
    struct instant instant;
    struct model model;
    struct ui ui;
    struct users users;
    struct baro_previous *machine_before; /* the reading of the machine before that of the instant */
    struct stretch_around around;         /* of a folder of segments: what is read */
    bool asked;
    int64_t asked_ns;
    uint64_t tolerance_ns; /* a sample up to this much later is the requested one */
    struct baro_error err;
};

/* How much later than the requested moment the sample is; negative: earlier. 0 also if the moment was given less
 * exactly than the sample's time. */
int64_t show_off_by(const struct show *w);
bool show_is_in(const struct baro_timeline_item *phase, uint64_t t_ns);
/* The machine in the instant. Returns false if it was not read by then. */
bool show_machine_row(const struct show *w, struct output_row *ret);

/* show_lines.c: what is said in words. */
void show_which_line(struct show *w, struct buf *b); /* which sample it is */
void show_lines(struct show *w, struct buf *b);      /* the job so far, its phases, the machine */
void show_kinds(struct show *w, struct buf *b);      /* directories, and kinds that only the tape has */
/* show_json.c: adds the instant to b. Returns 0 or a negative code. */
int show_json(struct show *w, struct buf *b);

#endif
