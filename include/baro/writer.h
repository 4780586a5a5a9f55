/* SPDX-License-Identifier: Apache-2.0 */
/**
 * @file
 * Writing a tape from another one: a stretch of it, or all of it with other texts. `baro trim` and `baro anonymize`
 * are made with this.
 *
 *     struct baro_writer *w;
 *     if (baro_writer_new(&w, "part.baro", tape, NULL, &err) < 0)
 *         return fail(&err);
 *     while ((r = baro_tape_next(tape, &record, &err)) > 0 && (r = baro_writer_add(w, &record, &err)) == 0)
 *         ;
 *     if (r == 0)
 *         r = baro_writer_finish(w, &err);
 *     baro_writer_free(w);
 *
 * The copy is a whole tape of this library's version, in one file, with the header of the original, its times and its
 * ids of processes. Each sample has all that a cursor delivers with it: job, recorder, processes, machine, entities and
 * kinds that were declared; exits, events and limits are as they were. What only another version of barograph knows is
 * copied where it is a kind, and left out where it is a metric of a kind that this library has, or a field of the
 * header: baro_writer_left_out(). Damage of the original becomes an event (BARO_EVENT_WARNING).
 *
 * A writer belongs to one thread at a time. It needs nothing of the cursor after baro_writer_new(), and nothing of a
 * record after baro_writer_add().
 */
#ifndef BARO_WRITER_H
#define BARO_WRITER_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "baro/error.h"
#include "baro/tape.h"

#ifdef __cplusplus
extern "C" {
#endif

struct baro_writer;

/** What a text of a tape is. Later versions may add some. */
enum baro_text_kind {
    BARO_TEXT_HOST,           /**< name of the machine */
    BARO_TEXT_KERNEL,         /**< release of the kernel */
    BARO_TEXT_BOOT_ID,        /**< /proc/sys/kernel/random/boot_id */
    BARO_TEXT_CPU_MODEL,      /**< model of the CPU */
    BARO_TEXT_RECORDING,      /**< what the recording is called */
    BARO_TEXT_BATCH,          /**< of a batch system; `name` is "job_id", "step_id" or "rank" */
    BARO_TEXT_ARGUMENT,       /**< an argument of the command */
    BARO_TEXT_DIRECTORY,      /**< working directory of the command */
    BARO_TEXT_LIMIT,          /**< what sets a limit: "cgroup /a memory.max" */
    BARO_TEXT_NAME,           /**< name of the program of a process or an exit */
    BARO_TEXT_CMDLINE,        /**< command line of a process or an exit */
    BARO_TEXT_ENTITY,         /**< name of an entity; `kind` is its kind */
    BARO_TEXT_LABEL,          /**< label of an entity; `kind` is its kind */
    BARO_TEXT_ATTRIBUTE_NAME, /**< name of an attribute; `kind` is that of the entity, -1 of an event */
    BARO_TEXT_ATTRIBUTE,      /**< its value, if it is a text; `name` is its name, `kind` as above */
    BARO_TEXT_JSON,           /**< its value, if it is JSON; `name` and `kind` as above */
    BARO_TEXT_EVENT,          /**< text of an event; `kind` is of enum baro_event_kind */
    BARO_TEXT_KIND,           /**< name of a kind that only the tape has */
    BARO_TEXT_METRIC,         /**< name of a metric of such a kind; `name` is its stem */
    BARO_TEXT_HELP            /**< what such a metric means, or where it is read */
};

/** A text, borrowed during the call that has it as an argument. */
struct baro_text {
    enum baro_text_kind what;
    int kind;         /**< as `what` says; else -1 */
    const char *name; /**< as `what` says; else NULL */
    const char *text; /**< never NULL */
};

/** How the copy differs. Later versions may add members at the end. */
struct baro_writer_options {
    size_t size; /**< sizeof(struct baro_writer_options) of the program */
    /** The copy has no records before this: it then says that its beginning was removed, as the rest of a tape in
     * segments does (baro_header_segment(), baro_header_has_start()). 0: it begins where the original does. */
    uint64_t from_ns;
    bool force; /**< replaces an existing file, once the copy is whole */
    /** Called for each text of the header and of each record. @return what is written instead, borrowed until the next
     * call; the text itself if it stays. The name of a kind has 63 bytes at most, that of a metric 1023. NULL: all
     * stay. */
    const char *(*text)(void *context, const struct baro_text *text);
    /** Called for each user id that is known. NULL: all stay. */
    uint32_t (*uid)(void *context, uint32_t uid);
    void *context; /**< of both */
};

#define BARO_WRITER_OPTIONS_INIT                                                                                       \
    {                                                                                                                  \
        sizeof(struct baro_writer_options), 0, false, NULL, NULL, NULL                                                 \
    }

/**
 * Begins a copy.
 * @param path of the new file, which only this user may read. It must not exist, unless options->force; then it must
 * be a regular file that no recorder writes.
 * @param tape the original, whose header is copied. Its position is of no account.
 * @param options NULL: a copy without differences.
 * @return 0 and a writer, to be freed with baro_writer_free(); a negative code.
 */
BARO_API int baro_writer_new(struct baro_writer **ret, const char *path, const struct baro_tape *tape,
                             const struct baro_writer_options *options, struct baro_error *err);

/**
 * Adds a copy of a record: in the order of the tape. Records that are left out leave nothing behind: the next sample is
 * written with all that it has.
 * @return 0, or a negative code: the copy can't be finished.
 */
BARO_API int baro_writer_add(struct baro_writer *w, const struct baro_record *record, struct baro_error *err);

/**
 * Writes what is pending, and the end of the tape; gives the file its name. Nothing can be added afterwards.
 * @return 0, or a negative code: there is no new tape.
 */
BARO_API int baro_writer_finish(struct baro_writer *w, struct baro_error *err);

/** @return how many bytes the copy has so far. */
BARO_API uint64_t baro_writer_bytes(const struct baro_writer *w);

/** @return how many metrics of the original have no place in the copy, because only another version knows them. */
BARO_API size_t baro_writer_left_out(const struct baro_writer *w);

/** Frees a writer. The file of one that was not finished is removed. NULL is allowed. */
BARO_API void baro_writer_free(struct baro_writer *w);

#ifdef __cplusplus
}
#endif
#endif
