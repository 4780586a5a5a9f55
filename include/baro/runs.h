/* SPDX-License-Identifier: Apache-2.0 */
/**
 * @file
 * The catalogue of kept runs: the tapes that `baro run` and `baro record` wrote where no file was named.
 *
 * They lie in one folder: $BARO_DIR, else $XDG_STATE_HOME/barograph, else ~/.local/state/barograph. People call them
 * `@last` (or `@1`), `@2`, ..., the newest first.
 *
 *     struct baro_runs *runs;
 *     if (baro_runs_list(&runs, 0, &err) < 0)
 *         return fail(&err);
 *     for (size_t i = 0; i < baro_runs_count(runs); i++)
 *         printf("@%zu %s\n", i + 1, baro_runs_path(runs, i));
 *     baro_runs_free(runs);
 *
 * A list is a copy of what the folder held when it was made: a run may have been removed since, which the functions
 * that open it report as -ENOENT. A list belongs to one thread at a time. The functions read the environment
 * (getenv(3)), so no other thread may change it meanwhile.
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
    BARO_RUNS_EMPTY = 1 /**< also files without a byte in them, which have no number such as @2 */
};

/**
 * Lists the kept runs, the newest first. The folder is made (mode 0700) if it does not exist. Where it cannot be used,
 * the runs are in a folder below $TMPDIR or /tmp that only this user may use, and baro_runs_note() says why.
 * @param flags 0 or enum baro_runs_flags.
 * @return 0 and a list to be freed with baro_runs_free(); -errno or -ENOMEM.
 */
BARO_API int baro_runs_list(struct baro_runs **ret, unsigned flags, struct baro_error *err);

/**
 * Lists the tapes in any folder: files and folders of segments whose names end with ".baro". The order is that of
 * baro_runs_list() for names that begin with a time, which come first; the others follow by name.
 * @param folder must exist; nothing is made.
 * @return 0 and a list to be freed with baro_runs_free(); -errno or -ENOMEM.
 */
BARO_API int baro_runs_list_folder(struct baro_runs **ret, const char *folder, struct baro_error *err);

/**
 * Lists the runs that `baro run` and `baro record` have announced on this machine: of this user, for root of all users;
 * also those whose tape is not among the kept runs (-o FILE). A run of which the tape was removed, or may not be read,
 * is left out. The folder of announcements is $BARO_ANNOUNCED, else $XDG_RUNTIME_DIR/barograph/runs, else the one below
 * /run/user/UID, for root /run/barograph/runs; it may not exist. The names are unique and have the form of kept runs';
 * the paths are those of the tapes. The order is unspecified.
 * @return 0 and a list to be freed with baro_runs_free(); -ENOMEM.
 */
BARO_API int baro_runs_list_announced(struct baro_runs **ret, struct baro_error *err);

/** Frees a list and all that was borrowed from it. NULL is allowed. */
BARO_API void baro_runs_free(struct baro_runs *runs);

/** @return the path of the folder, borrowed from the list. */
BARO_API const char *baro_runs_folder(const struct baro_runs *runs);
/** @return one line that says why this is not the folder that was asked for; "" if it is. Borrowed from the list. */
BARO_API const char *baro_runs_note(const struct baro_runs *runs);
/** @return how many runs there are; their positions go from 0 (the newest, @1) on. */
BARO_API size_t baro_runs_count(const struct baro_runs *runs);
/** @return the file name of run @p i in the folder, borrowed from the list; NULL if there is no such run. */
BARO_API const char *baro_runs_name(const struct baro_runs *runs, size_t i);
/** @return the path of run @p i, borrowed from the list; NULL if there is no such run. */
BARO_API const char *baro_runs_path(const struct baro_runs *runs, size_t i);
/** @return the size of run @p i in bytes; 0 if there is no such run. */
BARO_API uint64_t baro_runs_bytes(const struct baro_runs *runs, size_t i);

/**
 * Opens run @p i for reading, as baro_tape_open() does, but never follows a symbolic link.
 * @param cpu_ns CPU time that this thread may spend on this tape, in nanoseconds; 0: no limit. Once it is spent, each
 * call that reads the tape returns -ETIME: a tape that is damaged or was made to be slow must not hold up a list of
 * many.
 * @return 0 and a cursor to be closed with baro_tape_close(), which may outlive the list; BARO_E_RANGE if there is no
 * such run; else as baro_tape_open().
 */
BARO_API int baro_runs_open(const struct baro_runs *runs, size_t i, uint64_t cpu_ns, struct baro_tape **ret,
                            struct baro_error *err);

/**
 * Finds the tape that a person names.
 * @param name NULL or "@last": the newest kept run; "@1" (the same), "@2", ...; anything else is a path as it stands.
 * @param ret a buffer of the caller's for the path.
 * @param size its size in bytes; PATH_MAX is enough for each path that can be opened.
 * @return 0; -ENOENT if there is no such run; BARO_E_SYNTAX for another word with @; -ENAMETOOLONG; -errno.
 */
BARO_API int baro_runs_resolve(const char *name, char *ret, size_t size, struct baro_error *err);

/**
 * Opens the tape that a person names: baro_runs_resolve() and baro_tape_open() in one.
 * @param name NULL, "@last", "@2", ..., or a path.
 * @return 0 and a cursor to be closed with baro_tape_close(); else as these two.
 */
BARO_API int baro_tape_open_named(struct baro_tape **ret, const char *name, struct baro_error *err);

/* ---- new runs ---- */
struct baro_runs_watch; /**< tells when there are other runs than before */

/**
 * Begins to watch a folder of runs. Make a list after this call, and another one each time baro_runs_watch_read()
 * returns 1: no run is missed.
 * @param folder as of baro_runs_list_folder(); NULL: that of the kept runs, which is made if it does not exist.
 * @return 0 and a watch, to be freed with baro_runs_watch_free(); -errno or -ENOMEM.
 */
BARO_API int baro_runs_watch(struct baro_runs_watch **ret, const char *folder, struct baro_error *err);
/**
 * @return a descriptor that poll(2) finds readable when a run was begun, renamed or removed (inotify(7)). It belongs to
 * the watch. What another host does in a folder of a network file system is not reported: make a list from time to time
 * there.
 */
BARO_API int baro_runs_watch_fd(const struct baro_runs_watch *watch);
/**
 * Reads what happened, which makes the descriptor unreadable again. It does not wait.
 * @return 1: there may be other runs than before, the newest of them still without a header (BARO_E_EMPTY when it is
 * opened); 0: nothing happened; -ENOENT if the folder was removed; -errno.
 */
BARO_API int baro_runs_watch_read(struct baro_runs_watch *watch, struct baro_error *err);
/** NULL is allowed. */
BARO_API void baro_runs_watch_free(struct baro_runs_watch *watch);

/** Flags of baro_runs_remove(). */
enum baro_remove_flags {
    BARO_REMOVE_RUNNING = 1 /**< also a tape that a recorder still writes; the recorder will not write it anew */
};

/**
 * Removes a tape, of the kept runs or any other. What is not a tape stays. A damaged tape and one of a newer version
 * are tapes; a file that is too short to tell is one if its name ends with ".baro".
 * @param flags 0 or enum baro_remove_flags.
 * @return 0; -EBUSY if it is still written; BARO_E_NOT_TAPE, -errno.
 */
BARO_API int baro_runs_remove(const char *path, unsigned flags, struct baro_error *err);

/** How a recording ended. */
struct baro_tape_end {
    size_t size;       /**< set by the caller: sizeof(struct baro_tape_end); later versions add members at the end */
    uint64_t last_ns;  /**< when the last sample was, in nanoseconds since the tape began; 0: there is none */
    uint64_t end_ns;   /**< the later of the last sample and the end of the command */
    int status;        /**< as wait4(2) gives it, if status_known */
    bool ended;        /**< the command or the last target ended */
    bool status_known; /**< `status` is the one of the command */
    /** The recorder was told to stop while the job lived. An observer may go on with such a tape: it is not `ended`. */
    bool detached;
    bool complete; /**< the tape has the footer that a recorder writes last */
};

/**
 * Reads how the recording ended from the last blocks of the tape, without reading all of it. The cursor is moved.
 * @return 0; BARO_E_RANGE if @p ret->size is not a size that this library knows; negative on a read error.
 */
BARO_API int baro_tape_read_end(struct baro_tape *tape, struct baro_tape_end *ret, struct baro_error *err);

#ifdef __cplusplus
}
#endif
#endif
