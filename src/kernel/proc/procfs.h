/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Parsers of /proc/PID: pure functions over bytes, one .c file per kernel file; and reader.c, which has the only system
 * calls.
 *
 * A parser returns 0 or BARO_E_SYNTAX and does not change *ret on failure. Unknown keys and trailing fields are
 * skipped, so newer kernels work; the valid bit of a missing key stays unset. Nothing here allocates or needs a NUL.
 */
#ifndef KERNEL_PROC_PROCFS_H
#define KERNEL_PROC_PROCFS_H

#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>

#include "base/buf.h"
#include "base/error.h"
#include "base/span.h"
#include "kernel/proc/machine.h"

/* /proc/PID/stat; comments give the field numbers of proc(5). Fields up to 24 are required. */
struct pid_stat {
    int32_t pid;                               /* 1 */
    char comm[64];                             /* 2, raw bytes, NUL-terminated; ends at the last ')' of the file */
    char state;                                /* 3 */
    int32_t ppid;                              /* 4 */
    int32_t pgrp, session;                     /* 5, 6 */
    uint32_t flags;                            /* 9: PF_KTHREAD 0x00200000 */
    uint64_t minflt, cminflt, majflt, cmajflt; /* 10-13 */
    uint64_t utime, stime;                     /* 14, 15: ticks */
    uint64_t cutime, cstime;                   /* 16, 17: ticks, saturated at 0 */
    int64_t nice;                              /* 19 */
    uint64_t num_threads;                      /* 20 */
    uint64_t starttime;                        /* 22: ticks since boot */
    uint64_t vsize;                            /* 23: bytes */
    uint64_t rss;                              /* 24: pages, saturated at 0 */
    uint64_t sigignore; /* 33: ignored signals, bit n - 1 for signal n up to 31; 0 if it is not there */
    int32_t exit_code;  /* 52: wait status; valid if has_exit_code (since 3.5; 0 without ptrace access) */
    bool has_exit_code;
};
#define PROC_PF_EXITING 0x00000004u /* set at the start of do_exit() */
#define PROC_PF_KTHREAD 0x00200000u
int pid_stat_parse(struct span text, struct pid_stat *ret);

/* /proc/PID/status. Sizes in bytes. */
enum pid_status_field {
    STATUS_VM_HWM,
    STATUS_VM_RSS,
    STATUS_VM_SWAP,
    STATUS_VM_PTE,
    STATUS_HUGETLB,
    STATUS_RSS_ANON,
    STATUS_RSS_FILE,
    STATUS_RSS_SHMEM,
    STATUS_THREADS,
    STATUS_SWITCHES_VOLUNTARY,
    STATUS_SWITCHES_INVOLUNTARY,
    STATUS_TGID,
    STATUS_PPID,
    STATUS_UID,
    STATUS_KTHREAD,
    STATUS_MAX
};
struct pid_status {
    uint32_t valid;             /* bit per enum pid_status_field */
    uint64_t value[STATUS_MAX]; /* STATUS_UID: the real uid */
};
int pid_status_parse(struct span text, struct pid_status *ret);

/* /proc/PID/io */
enum pid_io_field {
    IO_RCHAR,
    IO_WCHAR,
    IO_SYSCR,
    IO_SYSCW,
    IO_READ_BYTES,
    IO_WRITE_BYTES,
    IO_CANCELLED_WRITE_BYTES,
    IO_MAX
};
struct pid_io {
    uint32_t valid;
    uint64_t value[IO_MAX];
};
int pid_io_parse(struct span text, struct pid_io *ret);

/* /proc/PID/smaps_rollup (4.14+). Bytes; uss = Private_Clean + Private_Dirty + Private_Hugetlb. */
/* SMAPS_PSS_ANON, SMAPS_PSS_SHMEM: 5.4+ */
enum pid_smaps_field {
    SMAPS_RSS,
    SMAPS_PSS,
    SMAPS_USS,
    SMAPS_SWAP,
    SMAPS_SWAP_PSS,
    SMAPS_PSS_ANON,
    SMAPS_PSS_SHMEM,
    SMAPS_MAX
};
struct pid_smaps {
    uint32_t valid;
    uint64_t value[SMAPS_MAX];
};
int pid_smaps_parse(struct span text, struct pid_smaps *ret);

/* /proc/PID/limits: soft limits, and the hard one of CPU time, in seconds; UINT64_MAX: unlimited. */
enum pid_limit_field { PID_LIMIT_CPU, PID_LIMIT_AS, PID_LIMIT_DATA, PID_LIMIT_NPROC, PID_LIMIT_MAX };
struct pid_limits {
    uint32_t valid; /* bit per enum pid_limit_field */
    uint64_t value[PID_LIMIT_MAX];
};
int pid_limits_parse(struct span text, struct pid_limits *ret);

/* /proc/PID/task/TID/schedstat: run time, run delay (ns), timeslices */
struct pid_schedstat {
    uint64_t run_ns, delay_ns, slices;
};
int pid_schedstat_parse(struct span text, struct pid_schedstat *ret);

/* /proc/PID/task/TID/children: calls fn for each pid until it returns false. Returns how many, or BARO_E_SYNTAX. */
int pid_children_parse(struct span text, bool (*fn)(void *context, int32_t pid), void *context);

/* The full name of a process: comm, unless that was truncated to 15 bytes and one of these begins with it: the base
 * name of exe, argv[0], or the script that an interpreter was given (argv[1], argv[2] ...). A " (deleted)" at the end
 * of exe is dropped. Any argument may be empty. */
void pid_name(struct span comm, struct span exe, struct span cmdline, struct buf *ret);

/* ---- reader.c ---- */
/* Reads "PID/what" below root_fd into at, at most cap bytes from its start. Returns the length or -errno. */
ssize_t proc_read(int root_fd, int32_t pid, const char *what, void *at, size_t cap);
/* The same with a single read(2), for files that the kernel writes in one piece (single_open()): stat, status, io,
 * schedstat. */
ssize_t proc_read_record(int root_fd, int32_t pid, const char *what, void *at, size_t cap);
/* Reads and parses PID/stat. Returns 0, -errno, or BARO_E_SYNTAX. */
int proc_read_stat(int root_fd, int32_t pid, struct pid_stat *ret);
/* The same with PID/status. */
int proc_read_status(int root_fd, int32_t pid, struct pid_status *ret);
/* Returns when the process that has this pid now was started, in ticks since boot; 0 if there is none, or it can't
 * be read. */
uint64_t proc_read_start(int root_fd, int32_t pid);
/* A pidfd of the process; -errno. proc_exit_status() returns the wait status of its process, which its parent has
 * reaped already (PIDFD_GET_INFO since Linux 6.15); a negative code if that is not known. */
int proc_pidfd(int32_t pid);
int proc_exit_status(int pidfd);
/* Do two processes have the same address space? kcmp(2) knows: 1, 0, or a negative code if the kernel refuses it (it
 * needs the rights of ptrace(2), and seccomp filters of containers forbid it) or was built without it. */
int proc_same_memory(int32_t a, int32_t b);
/* Opens "PID/what" below root_fd, O_RDONLY|O_CLOEXEC. Returns a descriptor or -errno. Reading an open /proc/PID file
 * fails with ESRCH once the process has ended, even if the pid is reused. */
int proc_open(int root_fd, int32_t pid, const char *what, int flags);
/* The number of open descriptors: st_size of /proc/PID/fd since 6.2 (which needs no permission), else they are counted.
 * Returns -errno on failure. */
int64_t proc_count_fds(int root_fd, int32_t pid);
/* The same from an open O_PATH descriptor of /proc/PID/fd. 0: no descriptors, or before 6.2; or -errno. */
int64_t proc_count_held_fds(int fd);
/* Calls fn for each thread id of pid, or for each process id below root_fd. Returns how many, or -errno. */
int proc_each_task(int root_fd, int32_t pid, bool (*fn)(void *context, int32_t tid), void *context);
/* Returns a thread of pid that has its memory, with its stat; 0: there is none. It is for a process whose first thread
 * has exited: that one is a zombie without memory and descriptors, and /proc/TID of another thread has them. before:
 * the thread of the last call, which is tried first; or 0. */
int32_t proc_living_thread(int root_fd, int32_t pid, int32_t before, struct pid_stat *ret);
int proc_each_process(int root_fd, bool (*fn)(void *context, int32_t pid), void *context);
/* enum baro_absent for an errno of a read below /proc/PID: ENOENT, ESRCH -> GONE; EACCES, EPERM -> DENIED; else
 * UNSUPPORTED. */
int proc_absent(int error);

#endif
