/* SPDX-License-Identifier: Apache-2.0 */
/* What `run` and `record` share: where the tape goes, and the summary that is kept up while it is written. */
#ifndef PROGRAMS_BARO_RECORDING_H
#define PROGRAMS_BARO_RECORDING_H

#include "libbaro/builder/builder.h"
#include "libbaro/rules/task_fold.h"
#include "libbaro/rules/task_lines.h"
#include "libbaro/tape/create.h"
#include "libbaro/tape/segments.h"
#include "programs/baro/surroundings.h"
#include "programs/common/cli.h"
#include "programs/common/settings.h"
#include "recorder/loop/record.h"

struct recording {
    const struct cli *cli;
    const struct record_settings *settings;
    struct buf output; /* the FILE of -o, NUL-terminated; empty: none was given */
    struct buf path;   /* absolute, NUL-terminated; of the tape */
    struct tape_file file;
    struct segments_writer segments; /* with --keep; file is then the folder */
    struct record_before before;     /* record --all: what a recorder before this one wrote into the folder */
    bool goes_on;                    /* there is such a part */
    bool segment_reported;           /* it was reported that no segment can be made */
    struct buf dir;                  /* folder of the kept runs; empty if -o was given */
    int tape_fd;
    bool begun;          /* the header is in the file */
    bool reported;       /* the summary was printed */
    bool moved, removed; /* another process moved or removed the tape while it was written */
    int again_errno;     /* why no new tape could be made after that; 0: there is one */
    uint64_t look_ns;    /* when it is checked next whether the tape still has its name */
    char *announced;     /* the name under which the run is announced; NULL: already announced, or impossible */
    bool kept;           /* among the kept runs */
    bool pruned;
    const struct link_end *link;         /* in the recorder of run: to the wrapper, which prints; else NULL */
    int stderr_fd;                       /* for lines to people; -1: none */
    void (*first_sample)(void *context); /* called once: the sample is on the tape, and the tape has its name */
    void *first_sample_context;
    struct baro_fold *fold; /* of what was recorded so far; NULL: nothing is printed at the end */
    bool gave_up;           /* the timeline would take too much memory: there are no verdicts */
    const struct baro_header *header;
    struct task_fold *tasks; /* NULL: none so far */
    struct task_file rules;
    struct surroundings surroundings;
    uint64_t sample_ns; /* of the last sample */
};

/* Opens the tape where the settings say, or among the kept runs under a name with that of the command. */
int recording_open(struct recording *r, const struct cli *cli, const struct record_settings *s, const char *command,
                   struct baro_error *err);
void recording_options(struct recording *r, struct record_options *ret);
/* Removes old kept runs, unless that was done while recording. */
void recording_tidy(struct recording *r);
/* Call it if the recorder ended unexpectedly: removes a tape that cannot be read because its header is incomplete.
 * Returns true if the tape can be read. */
bool recording_settle(struct recording *r);
/* Call it if nothing was recorded: removes the file, unless it existed before. */
void recording_discard(struct recording *r);
void recording_done(struct recording *r);
/* Prints one line: "baro COMMAND: text". */
void recording_say(void *recording, const char *line);

/* Returns a descriptor of the tape for a reader: of its file or of its folder. */
int recording_read_fd(const struct recording *r);
/* Does the tape have its final name? */
bool recording_named(const struct recording *r);

#endif
