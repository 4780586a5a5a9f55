/* SPDX-License-Identifier: Apache-2.0 */
/* The helper process of a collector program. Shared by program_child.c, program_command.c and program_output.c. */
#ifndef RECORDER_COLLECTORS_PROGRAMS_PROGRAM_CHILD_H
#define RECORDER_COLLECTORS_PROGRAMS_PROGRAM_CHILD_H

#include "recorder/collectors/programs/program_shared.h"

/* What is read of a program: 1 MiB a second; 4 MiB may come at once. Then it waits in its write(2). */
#define BYTES_PER_SEC (1u << 20)
#define BYTES_AT_ONCE (4u << 20)
#define BYTES_LEAST (64u << 10)

struct runner {
    const struct program_options *options;
    int32_t job_pid;
    struct program_shared *shared;
    struct program_status status;
    struct reading_parser *parser;
    uint32_t slot;
    int control_fd, signal_fd, out_fd, err_fd;
    pid_t pid; /* of the command; 0: it does not run */
    bool ended;
    int wait_status;
    bool repeats;                                        /* it ended after its reading when it was last started */
    bool silent;                                         /* and this was reported */
    uint32_t readings;                                   /* since it was started */
    uint64_t started_ns, reading_ns, start_ns, pause_ns; /* start_ns: when it must be started */

    char *text; /* READING_BYTES */
    size_t len;
    struct reading_frame frame;
    bool skipping;            /* skips the rest of a reading that was too long */
    uint64_t first_ns;        /* when the first byte of text came */
    uint64_t bytes, bytes_ns; /* that may be read, as of bytes_ns */
    size_t n_words;           /* of the line of standard error that has not ended yet */
};

/* ---- program_command.c ---- */

void runner_start(struct runner *r);
void runner_note_failure(struct runner *r, enum program_failure why);
/* What was printed belongs to the last start. */
void runner_forget_output(struct runner *r);
void runner_reap(struct runner *r);
/* Kills all that was started. When a child ends, its children become ours: repeats until there are none. One in an
 * uninterruptible sleep is left behind. */
void runner_kill_all(struct runner *r);
_Noreturn void runner_end(struct runner *r);

/* ---- program_output.c ---- */

void runner_refill(struct runner *r);      /* the bytes that may be read */
bool runner_read_output(struct runner *r); /* is there more? */
/* Takes all readings off the front. If several came at once, only the newest is parsed. */
void runner_take_readings(struct runner *r, bool ended);
void runner_read_errors(struct runner *r); /* keeps the last line that is not empty */

#endif
