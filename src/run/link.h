/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What the wrapper tells the recorder: datagrams over a non-blocking SOCK_SEQPACKET socketpair. The wrapper never waits
 * for the recorder: a message that does not fit is dropped, and each one carries running totals, so that a lost one
 * costs detail and never the sum. Both ends are one binary, so the structs travel as they are.
 */
#ifndef RUN_LINK_H
#define RUN_LINK_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

enum link_kind {
    LINK_STARTED = 1, /* the command was executed: pid, t_ns; number has a bit for each folder of its own control group
                         that it is in */
    LINK_FAILED,      /* it could not be: number is the errno; nothing to record */
    LINK_REAPED,      /* a child was reaped: the command itself or an adopted orphan */
    LINK_SIGNAL,      /* number was passed on to the command */
    LINK_STOPPED,     /* the command stopped by signal number */
    LINK_CONTINUED,
    LINK_ENDED, /* the command has ended and all that was there to reap was reaped: finish now */
};

/* With all that it had reaped. */
struct link_io {
    uint64_t read_bytes, write_bytes, rchar_bytes, wchar_bytes, cancelled_write_bytes;
};

struct link_message {
    uint32_t kind;
    int32_t pid;
    uint64_t t_ns; /* CLOCK_MONOTONIC, absolute */
    int64_t number;

    /* LINK_REAPED: from wait4 and from the zombie just before it. */
    int32_t status;              /* wait status */
    uint32_t stat_len;           /* raw bytes of /proc/PID/stat of the zombie; 0: could not be read */
    uint64_t cpu_ns;             /* CPU clock of the zombie, own threads only; 0: not known */
    uint64_t user_ns, system_ns; /* rusage: with all it had reaped */
    uint64_t maxrss_bytes;
    uint64_t faults_minor, faults_major, switches_voluntary, switches_involuntary;
    int32_t io_known;       /* io_used is the kernel's own count, whole */
    int32_t own_io_known;   /* of the command, if it had one thread only: */
    struct link_io own_io;  /* of io_used, what it did itself; the rest is of those that it reaped */
    struct link_io
        io_used; /* with what it had reaped; where it is not known, bytes from and to storage by rusage and no more */

    /* Running totals over all that the wrapper reaped so far, the recorder left out. */
    uint64_t total_reaped, total_user_ns, total_system_ns, total_faults_minor, total_faults_major;
    uint64_t total_switches_voluntary, total_switches_involuntary, total_maxrss_bytes;
    struct link_io total_io;   /* lower bounds, if there are any of the next: */
    uint64_t total_io_unknown; /* of how many of them io_used was not known */
    uint64_t floor_rss_bytes; /* of the wrapper when it started the command: below this maxrss says nothing */

    char stat[512];
};

/* The recorder's end of it. */
struct link_end {
    int fd;
    pid_t wrapper;
    /* In memory shared with the wrapper: while the recorder writes to the tape, the time (CLOCK_MONOTONIC) after which
     * that write hangs; 0: it does not write. At the command's end the wrapper does not wait for a recorder that hangs
     * in a write. NULL: no such memory. */
    volatile uint64_t *write_hangs_at;
};

/* For the recorder: text for people, which the wrapper prints; at once if now, else when the command has ended. Where
 * the wrapper is gone or its buffer is full the text is lost. */
void link_say(const struct link_end *link, const char *text, size_t len, bool now);
/* For the recorder: all is written and said; what is left to do is to end. */
void link_done(const struct link_end *link);

#endif
