/* SPDX-License-Identifier: Apache-2.0 */
/**
 * @file
 * Copying a tape: a part of it, or all of it with other texts. `baro trim` and `baro anonymize` use this.
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
 * The copy is a complete tape in one file, in the format of this library's version. It has the header, the times and
 * the process ids of the original, and everything that a cursor delivers: samples with job, recorder, processes,
 * machine, entities and declared kinds; exits, events and limits. Damage of the original becomes an event
 * (BARO_EVENT_WARNING).
 *
 * If another version of barograph wrote the original, kinds that this library does not have are copied. Unknown metrics
 * of kinds that it has, and unknown fields of the header, are left out: baro_writer_left_out() counts such metrics.
 *
 * A writer belongs to one thread at a time. It does not use the cursor after baro_writer_new(), nor a record after
 * baro_writer_add().
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

struct baro_writer; /**< a copy that is being written */

/** What a text of a tape is. Later versions may add values. */
enum baro_text_kind {
    BARO_TEXT_HOST,           /**< name of the machine */
    BARO_TEXT_KERNEL,         /**< release of the kernel */
    BARO_TEXT_BOOT_ID,        /**< /proc/sys/kernel/random/boot_id */
    BARO_TEXT_CPU_MODEL,      /**< model of the CPU */
    BARO_TEXT_RECORDING,      /**< name of the recording; of its "container", "image", "pod", ... if `name` is that */
    BARO_TEXT_BATCH,          /**< id that a batch system gave; `name` is "job_id", "step_id" or "rank" */
    BARO_TEXT_ARGUMENT,       /**< an argument of the command */
    BARO_TEXT_DIRECTORY,      /**< working directory of the command */
    BARO_TEXT_LIMIT,          /**< what sets a limit: "cgroup /a memory.max" */
    BARO_TEXT_NAME,           /**< name of the program of a process or an exit */
    BARO_TEXT_CMDLINE,        /**< command line of a process or an exit */
    BARO_TEXT_ENTITY,         /**< name of an entity; `kind` is its kind */
    BARO_TEXT_LABEL,          /**< label of an entity; `kind` is its kind */
    BARO_TEXT_ATTRIBUTE_NAME, /**< name of an attribute; `kind` is that of the entity, -1 of an event */
    BARO_TEXT_ATTRIBUTE,      /**< value of an attribute that is text; `name` is its name, `kind` as above */
    BARO_TEXT_JSON,           /**< value of an attribute that is JSON; `name` and `kind` as above */
    BARO_TEXT_EVENT,          /**< text of an event; `kind` is its enum baro_event_kind */
    BARO_TEXT_KIND,           /**< name of a kind that only the tape has */
    BARO_TEXT_METRIC,         /**< name of a metric of such a kind; `name` is its stem */
    BARO_TEXT_HELP,           /**< meaning or source of such a metric */
    BARO_TEXT_TAG             /**< a tag of the recording: "KEY=VALUE" */
};

/** A text of the original, given to `text` of the options. Borrowed during that call. */
struct baro_text {
    enum baro_text_kind what; /**< what the text is */
    int kind;                 /**< depends on `what`; else -1 */
    const char *name;         /**< depends on `what`; else NULL */
    const char *text;         /**< the text; never NULL */
};

/** Options of a copy. Later versions may add members at the end. */
struct baro_writer_options {
    size_t size; /**< set by the caller: sizeof(struct baro_writer_options) */
    /** The copy has no records before this time. Its header then says that its beginning was removed, as that of a tape
     * in segments does (baro_header_segment(), baro_header_has_start()). 0: the copy begins where the original does. */
    uint64_t from_ns;
    bool force; /**< replaces an existing file when the copy is complete */
    /** Called for each text of the header and of each record. It returns the text to write instead, borrowed until the
     * next call, or the text itself. The name of a kind may have 63 bytes, that of a metric 1023. NULL: texts are not
     * changed. */
    const char *(*text)(void *context, const struct baro_text *text);
    /** Called for each user id that is known. It returns the id to write instead. NULL: ids are not changed. */
    uint32_t (*uid)(void *context, uint32_t uid);
    void *context; /**< given to `text` and `uid`, until baro_writer_finish() returns */
    /** The copy is a stretch: it lacks records before `from_ns` or after some later time. Its summary then says what
     * was used in the stretch; without it, totals are those of the whole recording up to its end. */
    bool is_stretch;
    /** Above 0: the copy replaces the file of the original, a segment of a tape, of which about one of so many samples
     * is added. It keeps the id, the number, the rules of tasks, the owner and the mode of the original, which are new
     * otherwise; its header says that it is thinned; and it is on the disk before it gets its name. */
    uint32_t thinned;
};

/** Initializes a struct baro_writer_options: a copy without differences. */
#define BARO_WRITER_OPTIONS_INIT                                                                                       \
    {                                                                                                                  \
        sizeof(struct baro_writer_options), 0, false, NULL, NULL, NULL, false, 0                                       \
    }

/**
 * Begins a copy.
 * @param path of the new file, which gets mode 0600. The file must not exist, unless options->force; then it must be a
 * regular file that no recorder is writing.
 * @param tape the original, whose header is copied. The position of the cursor does not matter.
 * @param options borrowed during the call; NULL: BARO_WRITER_OPTIONS_INIT.
 * @return 0 and a writer, to be freed with baro_writer_free(); a negative code.
 */
BARO_API int baro_writer_new(struct baro_writer **ret, const char *path, const struct baro_tape *tape,
                             const struct baro_writer_options *options, struct baro_error *err);

/**
 * Does the same with a file that is open, such as one of memfd_create(2), and empty.
 * @param fd of a regular file; the writer keeps a duplicate, so the caller may close it.
 */
BARO_API int baro_writer_new_fd(struct baro_writer **ret, int fd, const struct baro_tape *tape,
                                const struct baro_writer_options *options, struct baro_error *err);

/**
 * Adds a copy of a record. Add records in the order of the tape. Any record may be left out: samples are complete, and
 * do not depend on records before them.
 * @return 0, or a negative code: the copy cannot be finished.
 */
BARO_API int baro_writer_add(struct baro_writer *w, const struct baro_record *record, struct baro_error *err);

/**
 * Writes the rest of the copy and its footer, and gives the file its name. No record can be added afterwards.
 * @return 0, or a negative code: no new tape was made.
 */
BARO_API int baro_writer_finish(struct baro_writer *w, struct baro_error *err);

/** @return the size of the copy so far, in bytes. */
BARO_API uint64_t baro_writer_bytes(const struct baro_writer *w);

/** @return how many metrics of the original are not in the copy, because this library does not know them. */
BARO_API size_t baro_writer_left_out(const struct baro_writer *w);

/** Frees a writer, and removes its file if the copy was not finished. NULL is allowed. */
BARO_API void baro_writer_free(struct baro_writer *w);

#ifdef __cplusplus
}
#endif
#endif
