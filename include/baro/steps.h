/* SPDX-License-Identifier: Apache-2.0 */
/**
 * @file
 * Steps: what held a job up, one thing that it did after the other; and the chain of last finishers.
 *
 * A step is a process that a driver started, with all processes below it. A driver is a process that starts others and
 * waits for them: make, ninja, cargo, a shell script. Example: of `make -j2` each compiler that make starts is a step,
 * with the cc1 and as below it; a make that make starts is a driver itself, and what it starts are steps. What a driver
 * does on its own, while nothing lives below it, is a step as well. So each process belongs to exactly one step.
 *
 * A driver is known by its name (make, ninja, cargo, pytest, snakemake, ...) or by what it does: it started four
 * processes or more, used less than a tenth of a core itself, lived for a tenth of the job or more, and none of its
 * children lived nearly as long as it did. The first process of the job is one if it started two. A shell or another
 * wrapper that waits for one process is part of the step of that process.
 *
 * The wall time of the job is shared among its steps: each moment is divided equally among the processes that lived and
 * had no living descendant. So the responsibility of all steps adds up to the wall time. Example: a compiler runs alone
 * for 2 s, then beside another one for 1 s: it is responsible for 2.5 s of 3 s, the other one for 0.5 s. Processes that
 * idled beside others that worked, such as a server for tests, have no share.
 *
 *     struct baro_steps *steps;
 *     if (baro_steps_of_tape(tape, &steps, &err) < 0)
 *         ...
 *     for (size_t i = 0; i < baro_steps_count(steps); i++) {
 *         struct baro_value v;
 *         baro_steps_value(steps, i, baro_steps_fact_find("responsible_ns"), &v);
 *         printf("%s %llu\n", baro_steps_get(steps, i)->name, (unsigned long long)v.u64);
 *     }
 *     baro_steps_free(steps);
 *
 * Names come from the tape: escape them before you print them (baro/text.h). Memory grows with the number of processes
 * (about 250 bytes each). Steps belong to one thread at a time.
 */
#ifndef BARO_STEPS_H
#define BARO_STEPS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "baro/error.h"
#include "baro/header.h"
#include "baro/summary.h"
#include "baro/tape.h"

#ifdef __cplusplus
extern "C" {
#endif

struct baro_steps; /**< the steps of one recording */

/**
 * Makes steps without records.
 * @param header borrowed during the call.
 * @return 0 and steps, to be freed with baro_steps_free(); -ENOMEM.
 */
BARO_API int baro_steps_new(struct baro_steps **ret, const struct baro_header *header, struct baro_error *err);
/**
 * Reads @p tape from its beginning to its present end, and finishes. Nothing of the tape is borrowed.
 * @return 0 and steps, to be freed with baro_steps_free(); negative on a read error; -ENOMEM.
 */
BARO_API int baro_steps_of_tape(struct baro_tape *tape, struct baro_steps **ret, struct baro_error *err);
/** Frees steps and all that was borrowed from them. NULL is allowed. */
BARO_API void baro_steps_free(struct baro_steps *steps);
/** Adds one record. Add the records in the order of the tape, each once. */
BARO_API void baro_steps_add(struct baro_steps *steps, const struct baro_record *record);
/**
 * Makes the steps and the chain from the records so far, in O(n log n). Read values after this call. More records may
 * be added afterwards; then call it again.
 * @return 0; -ENOMEM.
 */
BARO_API int baro_steps_finish(struct baro_steps *steps, struct baro_error *err);

/** @return the beginning of the job, in nanoseconds since the tape began. */
BARO_API uint64_t baro_steps_begin_ns(const struct baro_steps *steps);
/** @return the end of the job, or of the tape so far. Its distance from the beginning is the wall time. */
BARO_API uint64_t baro_steps_end_ns(const struct baro_steps *steps);
/** @return how many processes belong to no step because the tape has too many (more than a million). */
BARO_API uint64_t baro_steps_left_out(const struct baro_steps *steps);

/* ---- the steps ---- */
/** A step. Members may be added at the end: take what baro_steps_get() returns, make no arrays. */
struct baro_step {
    const char *name;     /**< the comm (proc(5)) of its process; "" for the time in which no process lived */
    const char *cmdline;  /**< the command line, redacted; NULL: not known */
    uint32_t occurrence;  /**< which of the steps of this name it is, by their beginning, from 1 on: "cc1 #3" */
    uint32_t occurrences; /**< how many steps have this name */
    int32_t pid;          /**< its process; 0: the time in which no process lived */
    uint64_t start_ticks; /**< start time of that process in clock ticks since boot; 0: not known */
    ptrdiff_t driver;     /**< position of the step of the driver that started it; -1: none */
    uint64_t begin_ns;    /**< its beginning, in nanoseconds since the tape began */
    uint64_t end_ns;      /**< its end: that of the last process below it */
    bool is_driver;       /**< it is what a driver does on its own */
    bool is_idle;         /**< it idled beside others that worked, such as a server: it has no share of the time */
    bool has_ended;       /**< all of its processes have ended */
    bool has_status;      /**< status is known */
    int status;           /**< wait status (wait4(2)) of its process */
};

/** @return how many steps there are. */
BARO_API size_t baro_steps_count(const struct baro_steps *steps);
/** @return step @p step, those that are responsible for most of the time first, borrowed; NULL if there is none. */
BARO_API const struct baro_step *baro_steps_get(const struct baro_steps *steps, size_t step);
/** @return the position of the step that a process belongs to; -1: there is none. O(log n). */
BARO_API ptrdiff_t baro_steps_find(const struct baro_steps *steps, int32_t pid, uint64_t start_ticks);

/** @return how many facts a step has. They are in no section (-1). */
BARO_API int baro_steps_fact_count(void);
/** @return fact @p fact of steps, a constant; NULL if there is none. */
BARO_API const struct baro_fact *baro_steps_fact(baro_fact_id fact);
/** @return the number of the fact of steps with this name, such as "responsible_ns", or -1. */
BARO_API baro_fact_id baro_steps_fact_find(const char *name);
/**
 * Reads the value of a fact of a step.
 * @param ret gets the value, or if it is absent the reason and zeros.
 * @return ret->absent: BARO_PRESENT (0), or why the value is absent; BARO_ABSENT_UNSUPPORTED for a fact or a step that
 * does not exist.
 */
BARO_API enum baro_absent baro_steps_value(const struct baro_steps *steps, size_t step, baro_fact_id fact,
                                           struct baro_value *ret);

/* ---- the processes ---- */
/** A process of the recording. Members may be added at the end: take what baro_steps_process() returns, make no arrays.
 */
struct baro_steps_process {
    const char *name;                 /**< the comm (proc(5)) of its last program; "": not known */
    const char *cmdline;              /**< the command line of that program, redacted; NULL: not known */
    int32_t pid;                      /**< its pid */
    uint64_t start_ticks;             /**< start time in clock ticks since boot; 0: not known */
    ptrdiff_t parent;                 /**< position of the process that started it; -1: it is not on the tape */
    uint64_t begin_ns;                /**< its beginning, in nanoseconds since the tape began; 0: before that */
    uint64_t end_ns;                  /**< its end; of one that has not ended the end of the tape so far */
    bool has_ended;                   /**< its end is on the tape */
    bool has_status;                  /**< status is known */
    int status;                       /**< wait status (wait4(2)) */
    struct baro_value cpu_ns;         /**< CPU time; of an attached process since the recording began */
    struct baro_value rss_peak_bytes; /**< high-water mark of its resident memory */
    struct baro_value io_read_bytes;  /**< bytes that it fetched from storage itself, not children that it waited for */
    struct baro_value io_write_bytes; /**< bytes that it sent to storage itself */
};

/** @return how many processes there are so far: also before baro_steps_finish(). */
BARO_API size_t baro_steps_processes(const struct baro_steps *steps);
/**
 * @return process @p process, in the order in which the tape names them first; borrowed until the next call. NULL if
 * there is none, or out of memory. Read it after baro_steps_finish(), which finds its parent.
 */
BARO_API const struct baro_steps_process *baro_steps_process(struct baro_steps *steps, size_t process);
/** @return the position of the process that the tape gives this id (baro_row_id()); -1: there is none. O(1). */
BARO_API ptrdiff_t baro_steps_process_of_id(const struct baro_steps *steps, uint32_t id);
/**
 * Lists the facts of a step that have a mark: "cpu_ns run_delay_ns"; "" if there are none.
 * @param flag of enum baro_value_flag.
 * @return the length of the whole text without the NUL at its end.
 */
BARO_API size_t baro_steps_marked(const struct baro_steps *steps, size_t step, unsigned flag, char *ret, size_t size);

/* ---- the chain of last finishers ---- */
/** What a link waited for before it began. Later versions may add values. */
enum baro_link_after {
    BARO_LINK_FIRST, /**< nothing that is known: its driver began with it, or was busy itself before */
    BARO_LINK_NEXT,  /**< the link before it: no other step of the same driver ran beside that one */
    BARO_LINK_SLOT,  /**< a slot, which the end of the link before it made free: the driver ran as many steps at once as
                          it ever did */
    BARO_LINK_LAST   /**< the link before it, which was the last of several that ran at once */
};

/** A link: from begin to end the job waited for this step. Members may be added at the end. */
struct baro_step_link {
    ptrdiff_t step;    /**< position of the step; -1: it is not known which one */
    uint64_t begin_ns; /**< where the link begins: mostly with the step, or with a part of a driver's own time */
    uint64_t end_ns;   /**< where it ends; the next link begins there */
    enum baro_link_after after; /**< what it waited for */
    /**
     * Starting the step first would save this much or less: the time in which it ran alone, and not more than it began
     * later than the first step of its driver. The chain does not know whether the step needs results of others. 0:
     * nothing, or the step mostly waited itself, as sleep(1) does, or its driver runs one step at a time.
     */
    uint64_t saving_most_ns;
};

/**
 * @return how many links the chain has. It goes back from the end of the job: to the child that ended last, within it
 * to its child that ended last, from its beginning to the sibling that had ended last by then, and so on. Each moment
 * belongs to one link. It follows from begins, ends and parents of processes alone; who waited for a file of whom is
 * not known. Where the times of two candidates are not known well enough to tell them apart, the link has no step.
 */
BARO_API size_t baro_steps_links(const struct baro_steps *steps);
/** @return link @p link, in order of time, borrowed; NULL if there is none. */
BARO_API const struct baro_step_link *baro_steps_link(const struct baro_steps *steps, size_t link);

#ifdef __cplusplus
}
#endif
#endif
