/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A helper process does the reads that can block, and can be abandoned. Files of processes: smaps_rollup (takes the
 * target's mmap lock and walks its page tables), cmdline and exe (fault in the target's pages or access its file
 * systems). Of the machine: the size of a filesystem (its server may be gone), sensors (a bus may be slow), the
 * frequencies of CPUs (there are many) and sums over control groups (over removed ones as well). A thread would not be
 * enough: one in uninterruptible sleep keeps its whole process from ending.
 */
#ifndef RECORDER_HELPER_HELPER_H
#define RECORDER_HELPER_HELPER_H

#include <stdbool.h>
#include <stdint.h>

#include "base/error.h"
#include "libbaro/sample/sample.h"
#include "recorder/helper/worker.h"

enum helper_what {
    HELPER_SMAPS = 1 << 0,
    HELPER_INFO = 1 << 1, /* full name and redacted command line */
    /* Reads of the machine. The caller chooses the key; after a read hung, no request with its key is sent again. */
    HELPER_FS = 1 << 2,        /* path: the mount point, absolute */
    HELPER_SENSOR = 1 << 3,    /* path: as of struct sys_sensor */
    HELPER_FREQUENCY = 1 << 4, /* key.start: the first CPU of at most HELPER_FREQUENCIES; key.pid: how many */
    HELPER_FILE = 1 << 5,      /* path: any file, absolute, such as one of a control group; its text comes back */
};
#define HELPER_FREQUENCIES 256u

enum {
    HELPER_FS_TOTAL,
    HELPER_FS_FREE,
    HELPER_FS_AVAILABLE,
    HELPER_FS_INODES,
    HELPER_FS_INODES_FREE,
    HELPER_FS_ID,
    HELPER_VALUES
};
enum { HELPER_SENSOR_NOW, HELPER_SENSOR_CRITICAL, HELPER_SENSOR_HAS_CRITICAL };
struct helper_frequency {
    uint32_t now_khz, most_khz; /* 0: not known */
};

struct helper_reply;
typedef void helper_reply_fn(void *context, const struct helper_reply *reply);

struct helper_request {
    struct baro_key key;
    uint32_t what;    /* enum helper_what */
    const char *path; /* of HELPER_FS, HELPER_SENSOR and HELPER_FILE: borrowed until it is answered */
    /* Gets the reply, whichever caller collects it; NULL: the function of that caller. */
    helper_reply_fn *fn;
    void *context;
};

struct helper_reply {
    struct baro_key key;
    uint32_t what;                                     /* which of it was tried */
    uint8_t smaps_absent, name_absent, cmdline_absent; /* enum baro_absent, BARO_PRESENT if there */
    uint64_t pss, uss;
    uint8_t pss_parts_absent; /* of pss_anon and pss_shmem, where the others are there */
    uint64_t pss_anon, pss_shmem;
    uint64_t spent_ns;          /* wall time of the smaps read: how long the target's mmap lock was held, at most */
    const char *name, *cmdline; /* borrowed until the next call */
    uint8_t host_absent;
    uint64_t host[HELPER_VALUES]; /* HELPER_FS: bytes and counts; HELPER_SENSOR: millidegrees in two's complement */
    const void *data;             /* of HELPER_FREQUENCY: struct helper_frequency, not aligned; of HELPER_FILE: text */
    size_t data_len;
};

struct helper;

/* Makes a helper. Its process is started with the first request. root_fd is a directory descriptor of /proc, borrowed.
 */
int helper_new(struct helper **ret, int root_fd, bool want_cmdline, struct baro_error *err);

/* Sets the directory descriptor of /sys, borrowed, for HELPER_SENSOR and HELPER_FREQUENCY. Call it before the first
 * request. */
void helper_use_sys(struct helper *h, int sys_fd);

/* Drops the requests with this context that are not answered yet: no reply is delivered, and nothing is borrowed for
 * them. */
void helper_forget(struct helper *h, const void *context);

/* Starts the helper now, while this process has little memory that the fork would copy. */
void helper_start(struct helper *h);

/* Hands over a batch and waits up to deadline_ns for the replies, or until wake_fd (-1: none) is readable; those that
 * come later are delivered by helper_collect(). A helper that hangs in one read for longer than a second (it sleeps, or
 * has used a second of CPU time more) is killed and abandoned, requests with that key are not sent again (they are
 * answered with BARO_ABSENT_TIMEOUT), and a new helper gets the other requests. Returns the number of replies
 * delivered, or -errno. */
int helper_ask(struct helper *h, const struct helper_request *requests, size_t n, uint64_t deadline_ns, int wake_fd,
               helper_reply_fn *fn, void *context);
int helper_collect(struct helper *h, helper_reply_fn *fn, void *context);
bool helper_busy(const struct helper *h); /* replies are outstanding */
/* The process, for what is known of it; NULL allowed. While worker_is_put_off() (the kernel refused the fork), requests
 * are answered with BARO_ABSENT_NOT_YET, and may be sent again. After worker_end() no request is allowed. */
struct worker *helper_worker(const struct helper *h);
void helper_free(struct helper *h); /* as worker_free() */

#endif
