/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Messages from the wrapper to the recorder: datagrams over a non-blocking SOCK_SEQPACKET socketpair. The wrapper never
 * waits for the recorder: a message that does not fit is dropped. Each message has running totals, so a lost one costs
 * detail and never changes the sum. Example: LINK_REAPED of a child with 20 ms of CPU time is dropped; the next
 * message's total includes the 20 ms. Both ends are one binary, so the structs are sent as they are.
 */
#ifndef RECORDER_WRAPPER_MESSAGES_H
#define RECORDER_WRAPPER_MESSAGES_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

#define REAP_OTHERS 32u /* children of the wrapper that were there before the command, and are known */

enum link_kind {
    /* The command was executed: pid, t_ns. number has a bit for each directory of its own control group it is in. */
    LINK_STARTED = 1,
    LINK_FAILED,  /* it could not be executed: number is the errno; nothing to record */
    LINK_REAPED,  /* a child was reaped: the command itself or an adopted orphan */
    LINK_SIGNAL,  /* signal number was forwarded to the command */
    LINK_STOPPED, /* the command was stopped by signal number */
    LINK_CONTINUED,
    LINK_ENDED, /* the command has ended and every zombie was reaped: finish now. number 1: it could not be ended */
};

/* I/O of a process and of all that it had reaped. */
struct link_io {
    uint64_t read_bytes, write_bytes, rchar_bytes, wchar_bytes, cancelled_write_bytes;
};

struct link_message {
    uint32_t kind;
    int32_t pid;
    uint64_t t_ns; /* CLOCK_MONOTONIC, absolute */
    int64_t number;

    /* LINK_REAPED: from wait4(2), and from the zombie just before it. */
    int32_t status;              /* wait status */
    uint32_t stat_len;           /* length of stat, /proc/PID/stat of the zombie; 0: could not be read */
    uint64_t cpu_ns;             /* CPU clock of the zombie, only its own threads; 0: not known */
    uint64_t cpu_limit_ns;       /* its hard RLIMIT_CPU; 0: none, or not read */
    uint64_t ticks_ns;           /* its CPU time by ticks, if it has that limit */
    uint64_t user_ns, system_ns; /* rusage: includes all that it had reaped */
    uint64_t maxrss_bytes;
    uint64_t faults_minor, faults_major, switches_voluntary, switches_involuntary;
    int32_t io_known;     /* io_used is complete: the kernel's own count */
    int32_t own_io_known; /* own_io is valid; only for the command, and only if it had one thread */
    struct link_io
        own_io; /* the part of io_used that the process used itself; the rest is from processes that it reaped */
    struct link_io io_used; /* includes the I/O of the processes that it had reaped; if !io_known, only storage bytes,
                               from rusage */

    /* Running totals over all that the wrapper has reaped so far, without the recorder. */
    uint64_t total_reaped, total_user_ns, total_system_ns, total_faults_minor, total_faults_major;
    uint64_t total_switches_voluntary, total_switches_involuntary, total_maxrss_bytes;
    struct link_io total_io;   /* a lower bound if total_io_unknown is not 0 */
    uint64_t total_io_unknown; /* how many of the reaped processes had !io_known */
    uint64_t floor_rss_bytes;  /* RSS of the wrapper when it started the command: a maxrss below it is the wrapper's */

    char stat[512];
};

/* The recorder's end of the link. */
struct link_end {
    int fd;
    pid_t wrapper;
    /* In memory shared with the wrapper: while the recorder writes to the tape, the time (CLOCK_MONOTONIC) after which
     * that write hangs; 0: it does not write. At the command's end the wrapper does not wait for a recorder that hangs
     * in a write. NULL: no such memory. */
    volatile uint64_t *write_hangs_at;
    volatile uint64_t *limit_word; /* the same: bits of enum link_limit, which the recorder sets */
    const int32_t *other;          /* with limits: children of the wrapper that were there before the command */
    size_t n_others;
};

/* How far limits (recorder/loop/enforce.h) are. After the command's end the wrapper waits until it was checked whether
 * the kernel's limit ended it, and as long as one acts. */
enum link_limit { LIMIT_CHECKED = 1, LIMIT_ACTS = 2, LIMIT_OVER = 4 };

/* For the recorder: text for people, which the wrapper prints; at once if now, else when the command has ended. The
 * text is lost if the wrapper has ended or its buffer is full. */
void link_say(const struct link_end *link, const char *text, size_t len, bool now);
void link_wake(const struct link_end *link); /* for the recorder: the wrapper looks at the shared memory */
/* For the recorder: everything is written and printed; it will only exit. */
void link_done(const struct link_end *link);

#endif
