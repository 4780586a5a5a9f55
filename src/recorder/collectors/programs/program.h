/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A collector program: a command of the user's that prints readings (WIRE.md), as run by a helper process.
 *
 * The helper process starts the command, reads what it prints, parses it, keeps the newest reading for the recorder,
 * starts the command again where that is due, and ends it and all that it has started when the recorder ends, however
 * it ends. So whatever the command does, the recorder only looks into shared memory at its ticks and never waits.
 */
#ifndef RECORDER_COLLECTORS_PROGRAMS_PROGRAM_H
#define RECORDER_COLLECTORS_PROGRAMS_PROGRAM_H

#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>

#include "base/error.h"
#include "recorder/collectors/programs/reading.h"

struct program_options {
    const char *command;  /* for /bin/sh -c; borrowed */
    const char *folder;   /* its working directory; NULL: ours; borrowed */
    uint64_t interval_ns; /* time from start to start of a command that ends after each reading */
};

/* How the last start of the command ended, if that was a failure. */
enum program_failure {
    PROGRAM_FINE,
    PROGRAM_ENDED,   /* wait_status says how */
    PROGRAM_EMPTY,   /* it ended with status 0 without printing a reading */
    PROGRAM_LATE,    /* it had ended after each reading so far, and now did not within the deadline: it was killed */
    PROGRAM_REFUSED, /* it could not be started: error_number */
    PROGRAM_LOST,    /* the helper process was killed, and the command with it */
};

#define PROGRAM_WORDS 200u
struct program_status {
    uint32_t starts, failures, readings;
    uint32_t silences;   /* how often it printed no reading until the deadline */
    uint32_t too_long;   /* readings over READING_BYTES */
    uint32_t bad_lines;  /* lines that could not be parsed */
    uint32_t cut;        /* rows, columns and values beyond the limits */
    uint32_t unfinished; /* bytes that it has printed of a reading without an end */
    uint8_t failure;     /* enum program_failure: the last one */
    int32_t wait_status, error_number;
    char words[PROGRAM_WORDS]; /* the last line that it wrote to standard error */
    char bad[READING_SAMPLE];  /* the first line that could not be parsed */
};

struct program;

/* No process is started yet. */
int program_new(struct program **ret, const struct program_options *options, struct baro_error *err);

/* Starts the helper process where there is none: at first, and again some time after it was killed. pid: of the job's
 * first process, for BARO_PID; 0: none. */
void program_run(struct program *p, int32_t pid);

/* Returns the newest reading since the last call, or NULL. Borrowed until the next call. */
const struct reading *program_take(struct program *p);

/* What is known of it by now. Borrowed; changes with the next call. */
const struct program_status *program_status(struct program *p);

pid_t program_pid(const struct program *p); /* of the helper process, 0: none */
uint64_t program_cpu_ns(struct program *p); /* of the helper process, and of commands that have ended */

/* Tells the helper process to end the command, and does not wait. */
void program_end(struct program *p);
/* Waits for its end, up to half a second, then kills it. NULL is allowed. */
void program_free(struct program *p);

#endif
