/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The memory that the job needed: about the smallest memory limit, without swap, with which it still ends. That is no
 * sum of rss: a page that several processes map counts once, files in memory (tmpfs, memfd) count although no process
 * maps them, and files of disks do not count, because the kernel drops their pages when memory is short.
 *
 *   anonymous memory   pss_anon of each process
 *   shared memory      the larger of the pss_shmem of all processes and the growth of tmpfs: what PostgreSQL maps in
 *                      /dev/shm is in both
 *   the kernel's       page tables, and about as much for each process and thread as Linux 6.18 was charged with
 *
 * Example: a shell copies 400 MB to /dev/shm: 1 MB anonymous, 400 MB shared, 0.3 MB of the kernel. Four forks of a
 * process with 200 MB that only read it: 200 MB anonymous, though each has an rss of 200 MB.
 */
#ifndef LIBBARO_SUMMARY_NEEDED_H
#define LIBBARO_SUMMARY_NEEDED_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "libbaro/sample/sample.h"
#include "libbaro/summary/together.h"

/* Why the job may have needed more than is known. */
enum needed_doubt {
    NEEDED_CERTAIN,
    NEEDED_MARKS,   /* processes may have held more between two samples */
    NEEDED_SHARING, /* how much processes share could not be read */
    NEEDED_SHMEM,   /* the machine's shared memory grew by more than is known to be the job's */
    NEEDED_KERNEL,  /* what the kernel keeps for the job's control group, such as pipes, grew */
    NEEDED_HUGETLB, /* huge pages, which most limits do not count */
    NEEDED_CACHE,   /* the control group held more, page cache included, than was read of its parts */
    NEEDED_DOUBTS
};

struct needed_parts {
    uint64_t anon, shared, kernel;
};

struct needed_row {
    uint32_t id;
    struct baro_key key;
    bool is_zombie;
    bool has_huge_pages;               /* it has more memory of its own than pages of usual size can be */
    uint64_t smaps_at_ns, anon_then;   /* rss_anon when pss_anon was read */
    uint64_t faults_then;              /* page faults by then */
    uint64_t files_most;               /* the most of rss that was of files and shared memory */
    uint64_t anon, rss, faults;        /* anon: what counts for the process; faults: those not of shared memory */
    uint64_t anon_most, faults_shared; /* anon_most: the most of rss_anon, whoever shares it */
};

/* Shared memory and huge pages of the machine, which others may have as well. */
struct needed_growth {
    uint64_t shmem_of_job;               /* by how much the job may have let shared memory grow */
    uint64_t wchar, faults, shmem, anon; /* of the last sample, in bytes */
    uint64_t hugetlb;                    /* of the first reading of the machine */
    bool has_host;
};

struct needed {
    struct needed_row *row, *next; /* of the last sample, by id; next: of the one that is being added */
    size_t n, cap, cap_next;
    uint64_t page_bytes;
    uint32_t kernel_group; /* the innermost control group that says what the kernel keeps for it; 0: none */
    uint64_t kernel_first;
    struct needed_growth growth;
    uint64_t mapped_most; /* shared memory that processes have mapped at one time */
    /* Since the limits last changed: */
    bool seen;
    struct needed_parts peak;    /* of the sample with the largest sum */
    uint64_t most;               /* with what may be the job's besides, in any sample */
    enum needed_doubt doubt;     /* what that is */
    uint64_t mark, mark_at_most; /* the most that a process alone held between samples */
    uint64_t known_mark;         /* the largest high-water mark of a known process, files included */
    struct together between;     /* what all processes may have held together between samples */
    uint32_t *ended;             /* processes in no sample that ended since the last one */
    size_t n_ended, cap_ended;
    uint64_t stale_since_ns; /* since when it is not known how much processes share; 0: it is */
    uint64_t counted_twice;  /* in the last sample: so much of `anon` of its rows may be */
    uint64_t calm_anon;      /* anonymous memory in the last sample in which it was known how much processes share */
    bool failed;             /* out of memory */
};

void needed_init(struct needed *n, uint64_t page_bytes);
void needed_done(struct needed *n);
/* Forgets the peaks: the limits have changed. */
void needed_begin(struct needed *n);
/* counts_marks: the high-water marks of processes are from the recording. */
void needed_add_sample(struct needed *n, const struct baro_sample *s, const struct derive_ticks *ticks,
                       bool counts_marks);
void needed_add_exit(struct needed *n, const struct baro_exit *e);
uint64_t needed_sum(const struct needed_parts *p);

#endif
