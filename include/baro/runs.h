/* SPDX-License-Identifier: Apache-2.0 */
/**
 * @file
 * The catalogue of kept runs: the tapes that `baro run` and `baro record` wrote when the user named no file.
 *
 * They are in one folder: $BARO_DIR, else $XDG_STATE_HOME/barograph, else ~/.local/state/barograph. Users name them
 * `@last` (or `@1`), `@2`, ..., the newest first.
 *
 *     struct baro_runs *runs;
 *     if (baro_runs_list(&runs, 0, &err) < 0)
 *         return fail(&err);
 *     for (size_t i = 0; i < baro_runs_count(runs); i++)
 *         printf("@%zu %s\n", i + 1, baro_runs_path(runs, i));
 *     baro_runs_free(runs);
 *
 * A list has what the folder contained when the list was made. If a run has been removed since, opening it fails with
 * -ENOENT. A list belongs to one thread at a time. The functions read the environment (getenv(3)), so no other thread
 * may change it meanwhile.
 */
#ifndef BARO_RUNS_H
#define BARO_RUNS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "baro/error.h"
#include "baro/tape.h"

#ifdef __cplusplus
extern "C" {
#endif

struct baro_runs; /**< a list of kept runs */

/** Flags of baro_runs_list(). */
enum baro_runs_flags {
    BARO_RUNS_EMPTY = 1,   /**< lists files of 0 bytes, too; they have no number such as @2 */
    BARO_RUNS_ANY_NAME = 2 /**< lists tapes to which the user gave a name, too: behind the others, without a number */
};

/**
 * Lists the kept runs, the newest first. Makes the folder (mode 0700) if it does not exist. If the folder cannot be
 * used, the runs are in a folder below $TMPDIR or /tmp that only this user can use, and baro_runs_note() says why.
 * @param flags 0 or enum baro_runs_flags.
 * @return 0 and a list to be freed with baro_runs_free(); -errno or -ENOMEM.
 */
BARO_API int baro_runs_list(struct baro_runs **ret, unsigned flags, struct baro_error *err);

/**
 * Lists the tapes in any folder: files and folders of segments whose names end with ".baro". Names that begin with a
 * time come first, in the order of baro_runs_list(); the others follow in the natural order of their
 * names: task-2 before task-10.
 * @param folder must exist.
 * @return 0 and a list to be freed with baro_runs_free(); -errno or -ENOMEM.
 */
BARO_API int baro_runs_list_folder(struct baro_runs **ret, const char *folder, struct baro_error *err);

/**
 * Lists the runs that `baro run` and `baro record` have announced on this machine: those of this user, or for root
 * those of all users. They include runs whose tape is not in the folder of kept runs (-o FILE). A run whose tape was
 * removed or cannot be read is left out.
 *
 * The folder of announcements is $BARO_ANNOUNCED, else $XDG_RUNTIME_DIR/barograph/runs, else
 * /run/user/UID/barograph/runs; for root /run/barograph/runs. If it does not exist, the list is empty. Names are unique
 * and have the form of names of kept runs; paths are those of the tapes. The order is unspecified.
 * @return 0 and a list to be freed with baro_runs_free(); -ENOMEM.
 */
BARO_API int baro_runs_list_announced(struct baro_runs **ret, struct baro_error *err);

/** Frees a list and all that was borrowed from it. NULL is allowed. */
BARO_API void baro_runs_free(struct baro_runs *runs);

/** @return the path of the folder, borrowed from the list. */
BARO_API const char *baro_runs_folder(const struct baro_runs *runs);
/** @return why the list is of another folder than the usual one, in one line; else "". Borrowed from the list. */
BARO_API const char *baro_runs_note(const struct baro_runs *runs);
/** @return how many runs the list has; run 0 is the newest (@1). */
BARO_API size_t baro_runs_count(const struct baro_runs *runs);
/** @return the file name of run @p i, borrowed from the list; NULL if there is no such run. */
BARO_API const char *baro_runs_name(const struct baro_runs *runs, size_t i);
/** @return the path of run @p i, borrowed from the list; NULL if there is no such run. */
BARO_API const char *baro_runs_path(const struct baro_runs *runs, size_t i);
/** @return the size of run @p i in bytes; 0 if there is no such run. */
BARO_API uint64_t baro_runs_bytes(const struct baro_runs *runs, size_t i);

/**
 * @return the number by which users name run @p i: 2 of @2; 0 if it has none, as in other lists than those of
 * baro_runs_list().
 */
BARO_API size_t baro_runs_number(const struct baro_runs *runs, size_t i);
/** @return when the file of run @p i changed last, in nanoseconds since 1970; 0 if there is no such run. */
BARO_API int64_t baro_runs_changed_ns(const struct baro_runs *runs, size_t i);
/** @return the inode of run @p i, with which a program notices that it is another file; 0 if there is no such run. */
BARO_API uint64_t baro_runs_inode(const struct baro_runs *runs, size_t i);

/**
 * Opens run @p i for reading as baro_tape_open() does, but does not follow a symbolic link.
 * @param cpu_ns limit of CPU time for this tape, as of baro_tape_limit_cpu(); 0: no limit. A program that lists many
 * tapes sets one, so that a damaged or malicious tape cannot hold it up.
 * @return 0 and a cursor to be closed with baro_tape_close(), which may outlive the list; BARO_E_RANGE if there is no
 * such run; else as baro_tape_open().
 */
BARO_API int baro_runs_open(const struct baro_runs *runs, size_t i, uint64_t cpu_ns, struct baro_tape **ret,
                            struct baro_error *err);

/**
 * Finds the path of the tape that a user names.
 * @param name NULL, "@last" or "@1": the newest kept run; "@2", ...: an older one; anything else is a path already.
 * @param ret gets the path; owned by the caller.
 * @param size size of @p ret in bytes. PATH_MAX is enough for every path that can be opened.
 * @return 0; -ENOENT if there is no such run; BARO_E_SYNTAX for another name that begins with @; -ENAMETOOLONG; -errno.
 */
BARO_API int baro_runs_resolve(const char *name, char *ret, size_t size, struct baro_error *err);

/**
 * Opens the tape that a user names: baro_runs_resolve() and baro_tape_open() in one call.
 * @param name as for baro_runs_resolve().
 * @return 0 and a cursor to be closed with baro_tape_close(); else as these two functions.
 */
BARO_API int baro_tape_open_named(struct baro_tape **ret, const char *name, struct baro_error *err);

/* ---- new runs ---- */
struct baro_runs_watch; /**< reports that runs were begun, renamed or removed */

/**
 * Begins to watch a folder of runs (inotify(7)). To miss no run, make a list after this call, and another one each time
 * baro_runs_watch_read() returns 1. A watch belongs to one thread at a time.
 * @param folder as for baro_runs_list_folder(); NULL: that of the kept runs, which is made if it does not exist.
 * @return 0 and a watch, to be freed with baro_runs_watch_free(); -errno or -ENOMEM.
 */
BARO_API int baro_runs_watch(struct baro_runs_watch **ret, const char *folder, struct baro_error *err);
/**
 * @return a descriptor that is readable (poll(2)) after a run was begun, renamed or removed. It belongs to the watch:
 * do not close it. inotify(7) does not report changes that another host makes on a network file system: make a list
 * from time to time there.
 */
BARO_API int baro_runs_watch_fd(const struct baro_runs_watch *watch);
/**
 * Reads the pending changes without waiting. The descriptor is not readable afterwards.
 * @return 1 if runs may have changed (the newest may not have a header yet: opening it fails with BARO_E_EMPTY); 0 if
 * nothing happened; -ENOENT if the folder was removed; -errno.
 */
BARO_API int baro_runs_watch_read(struct baro_runs_watch *watch, struct baro_error *err);
/** Frees a watch and closes its descriptor. NULL is allowed. */
BARO_API void baro_runs_watch_free(struct baro_runs_watch *watch);

/** Flags of baro_runs_remove(). */
enum baro_remove_flags {
    BARO_REMOVE_RUNNING =
        1 /**< removes a tape that a recorder is writing, too; the recorder does not create it again */
};

/**
 * Removes a tape, in the folder of kept runs or anywhere else. Other files are not removed. A damaged tape, and one of
 * a newer version, count as tapes; a file that is too short to tell counts as one if its name ends with ".baro".
 * @param flags 0 or enum baro_remove_flags.
 * @return 0; -EBUSY if a recorder is writing it; BARO_E_NOT_TAPE; -errno.
 */
BARO_API int baro_runs_remove(const char *path, unsigned flags, struct baro_error *err);

/** How a recording ended. */
struct baro_tape_end {
    size_t size;      /**< set by the caller: sizeof(struct baro_tape_end); later versions may add members at the end */
    uint64_t last_ns; /**< time of the last sample, in nanoseconds since the tape began; 0: there is none */
    uint64_t end_ns;  /**< the later of the last sample and the end of the command */
    int status;       /**< wait status of the command (wait4(2)), if status_known */
    bool ended;       /**< the command or the last target ended */
    bool status_known; /**< `status` is known */
    /** The recorder stopped while the job was alive. If `ended` is false, `baro observe` may begin its next part. */
    bool detached;
    bool complete;           /**< the tape has the footer that a recorder writes last */
    uint64_t command_end_ns; /**< when the command ended, from the start of the tape; 0: not on the tape */
    char ended_by[24];       /**< the name of the limit of `baro run --limit` that ended the job; "": none did */
    /** When the command was started, from the start of the tape; 0 if that is not in the last blocks, which begin some
     * seconds later then: it is within some milliseconds. */
    uint64_t command_start_ns;
};

/**
 * Reads how the recording ended from the last blocks of the tape, without reading all of it. It moves the cursor.
 * @return 0; BARO_E_RANGE if this library does not know the size @p ret->size; negative on a read error.
 */
BARO_API int baro_tape_read_end(struct baro_tape *tape, struct baro_tape_end *ret, struct baro_error *err);

#ifdef __cplusplus
}
#endif
#endif
