/* SPDX-License-Identifier: Apache-2.0 */
/* What the files of this folder share. */
#ifndef RECORDER_OBSERVE_STATE_H
#define RECORDER_OBSERVE_STATE_H

#include <dirent.h>
#include <limits.h>
#include <sys/types.h>

#include "base/buf.h"
#include "base/map.h"
#include "recorder/observe/jobs.h"
#include "recorder/select/select.h"

struct jobs;
struct lister;

/* A job that is recorded. */
struct job_entry {
    struct jobs *jobs;
    struct recorder *recorder;
    char *name; /* the path of its control group, or the name of its task file */
    /* the inode of the control group (another group may have had the same name), or a hash of the version of the task
     * file */
    uint64_t id;
    struct record_options options;
    struct task_file *file; /* NULL: it is not a job of tasks */
    struct select_options tasks;
    /* tape.c */
    struct segments_writer segments;
    bool segment_reported, begun;
    char *folder; /* its name in the folder of the tapes */
    /* left.c: the part of the tape that another observer has left; options.attach.before leads to it */
    struct record_before before;
    uint64_t before_boottime_ns; /* CLOCK_BOOTTIME: when that part began */
    uint32_t before_clk_tck;
};

/* Names of tapes that may have no end. */
struct left_tapes {
    char **at;
    size_t n;
};

/* Identifies a version of a file. */
struct task_version {
    uint64_t inode, device, size;
    int64_t mtime_s, mtime_ns;
    uint64_t owner; /* not compared: a file that has another owner now may have become readable */
};

/* A file of --tasks. */
#define TASK_FILES_MOST 10000u
struct task_entry {
    char *name;
    struct task_version version;
    bool seen;             /* the current search has found it */
    bool is_unread;        /* this version of it was not read yet */
    struct job_entry *job; /* NULL: the file has an error, or the job has ended */
    uint64_t retry_ns;     /* CLOCK_MONOTONIC: when it is tried again; 0: never */
    struct pin pin;        /* where the file names the control group that it waits for; line 0: reading hung */
    char *group;           /* that control group */
    unsigned said_line, said_column; /* the last such place that was reported */
    unsigned n_hung;                 /* how often reading it took too long; files with a lower number come first */
};

/* The process that reads a task file. One that hangs is killed, and may end much later. */
#define READERS_LEFT_MOST 8u
struct reader {
    pid_t pid;                /* 0: none */
    int fd;                   /* -1: everything was read, or the process was killed */
    struct task_entry *entry; /* the file that it reads; NULL: the file has changed meanwhile */
    char path[PATH_MAX];
    struct buf lines;
    int status;
    uint64_t cpu_ns; /* what it has used */
    bool is_late;
    uint64_t began_ns;             /* CLOCK_MONOTONIC */
    pid_t left[READERS_LEFT_MOST]; /* processes that were killed and have not ended yet */
    size_t n_left;
};

struct task_files {
    struct lister *lister;
    bool is_listed; /* the folder was listed at least once */
    struct task_entry **at;
    size_t n;
    struct map by_name; /* while a list is read */
    struct reader reader;
    uint64_t retry_ns; /* CLOCK_MONOTONIC: no job is begun before, because descriptors or memory ran out */
    uint64_t paid_ns;  /* CLOCK_MONOTONIC: when the budget has paid what reading files without a job took */
    uint64_t owner;    /* of the file that was read last */
    bool said_many, said_left, said_behind;
};

/* Control groups that have been made and are not recorded yet. */
struct missed {
    int fd; /* inotify descriptor; -1: none */
    struct missed_folder {
        int wd;
        size_t skip;          /* length of the mount point in path */
        char *path, *pattern; /* path of a folder; pattern of the names of groups in it */
    } * at;
    size_t n, cap;
    struct missed_group {
        char *path;
        size_t skip;
        uint64_t hash;             /* of its name */
        uint64_t due_ns, retry_ns; /* CLOCK_MONOTONIC: when it is tried next; how long to wait after that */
    } * pending;
    size_t n_pending, cap_pending;
    uint64_t count, said; /* groups that were removed before they could be recorded */
    bool is_lower_bound;
    uint64_t due_ns; /* CLOCK_MONOTONIC: when that may be reported again */
};

/* A search for control groups, between two turns. */
#define LEVELS_MOST 32u
#define LARGE_MOST 64u
struct groups {
    char pattern[PATH_MAX], path[PATH_MAX];
    size_t skip; /* length of the mount point in path */
    size_t pattern_index, hierarchy, matched;
    struct groups_level {
        DIR *dir;
        const char *names; /* what its names are compared with; the parts of the pattern after that follow */
        size_t len;        /* of its path */
        unsigned n;        /* how many names were read */
    } level[LEVELS_MOST];
    size_t n;
    struct groups_large { /* a folder of which a pass reads a part */
        uint64_t key;
        long at; /* telldir(3) */
        uint64_t since_ns;
        bool is_kept, was_read; /* seen in this pass; read to its end at least once */
    } large[LARGE_MOST];
    size_t n_large;
    uint64_t since_ns; /* CLOCK_MONOTONIC: when the pass began */
    bool is_in_pass, was_pass, any_left_out;
};

/* A group whose recording could not begin. */
#define FAILED_MOST 16u
struct failed_job {
    uint64_t key, retry_ns; /* CLOCK_MONOTONIC */
};

/* The bytes of all tapes, while they are counted. */
struct total {
    struct left_tapes all;
    size_t n; /* tapes that were counted or, after that, checked for removal */
    uint64_t bytes;
    bool is_listed, is_counted, said;
};

struct jobs {
    const struct jobs_options *options;
    struct job_slot { /* in the order of the hashes of their names */
        uint64_t hash;
        struct job_entry *entry;
    } * at;
    size_t n, cap;
    struct left_tapes left;
    struct task_files task_files;
    struct missed missed;
    struct groups groups;
    struct failed_job failed[FAILED_MOST];
    size_t next_failed;
    bool folder_was_link;
    uint64_t folder_retry_ns; /* CLOCK_MONOTONIC: when to make the folder again; 0: it exists */
    uint64_t failed_ns;       /* CLOCK_MONOTONIC: when a job last could not be recorded */
    struct total total;
    uint64_t due_ns[4]; /* CLOCK_MONOTONIC: when each search goes on */
    uint64_t paid_ns;   /* CLOCK_MONOTONIC: when beginning groups that were just made is paid */
    bool were_searched; /* control groups were searched at least once */
    bool room_reported; /* that the disk is nearly full */
    bool said_late;     /* that searching takes long was reported */
};

/* A job that was found: a control group, a task file, or the machine. */
struct job_request {
    const char *name;
    uint64_t id;
    const char *cgroup;
    struct task_file *tasks; /* taken if the job begins; if there is neither this nor a cgroup, it is the machine */
    const char *task_file;   /* path of the task file, for errors */
};
/* Begins the job of a task file. Returns 0 or a negative code. */
typedef int job_begin_fn(void *context, const struct job_request *q, struct job_entry **ret, struct baro_error *err);

/* folder.c: returns whether tapes can be made. If the folder was removed or replaced, makes and opens it again, and
 * ends all jobs, which begin again in the new folder. */
bool folder_check(struct jobs *j, struct observer *observer);
bool folder_is_link(const char *path);

/* missed.c */
void missed_init(struct missed *m);
void missed_read(struct missed *m, uint64_t until_ns); /* before each search */
void missed_watch(struct missed *m, const char *folder, size_t skip, const char *pattern);
void missed_begun(struct missed *m, const char *name); /* the recording of a group has begun */
void missed_say(struct missed *m, const struct jobs_options *o, bool at_end);
void missed_done(struct missed *m);

/* Reports that a job cannot be recorded, unless that was reported for another one within the last minute. */
void jobs_say_failed(struct jobs *j, const char *line);

/* groups.c: calls fn for each control group that matches, has processes and is not known. fn returns whether it is
 * being recorded now. no_match is called for a pattern that nothing matches. */
struct groups_search {
    const char *const *patterns;
    size_t n_patterns;
    bool (*known)(void *context, const char *path);
    bool (*fn)(void *context, const char *path, uint64_t inode);
    void (*no_match)(void *context, const char *pattern);
    void *context;
    struct missed *missed;
};
/* Searches until about until_ns. Returns whether the end of a pass over all patterns was reached. */
bool groups_turn(struct groups *g, const struct groups_search *s, uint64_t until_ns);
/* Begins to record the groups that were just made, where a process is in them by now; until about until_ns. */
void missed_begin(struct missed *m, const struct groups_search *s, uint64_t until_ns);
uint64_t missed_due_ns(const struct missed *m);   /* when missed_begin() has something to do; UINT64_MAX: never */
bool groups_has_processes(const char *dir);       /* or has a group below it one? dir: an absolute path */
bool groups_are_read(const struct groups *g);     /* was each group that matches visited at least once? */
uint64_t groups_since_ns(const struct groups *g); /* no group was visited twice since then (CLOCK_MONOTONIC) */
void groups_again(struct groups *g);              /* begins from scratch; frees what is open */

/* task_files.c: one turn, until about until_ns. Returns whether there are more files to read now. */
bool task_files_turn(struct jobs *j, struct observer *o, uint64_t until_ns, job_begin_fn *fn, void *context);
bool task_files_are_read(const struct task_files *t); /* was each file read? */
void task_files_again(struct task_files *t);          /* makes all jobs begin again */
void task_files_ended(struct jobs *j, const struct job_entry *e);
void task_files_done(struct task_files *t);

/* lister.c: a file that the process that lists the folder has found. */
struct task_found {
    char name[NAME_MAX + 1];
    struct task_version version;
};
/* Returns the length of a name without ".yaml" ("nightly.yaml": 7); 0: it is no task file, or a hidden one. */
size_t task_stem_length(const char *name);
int lister_new(struct lister **ret, const char *path, struct baro_error *err);
struct worker *lister_worker(struct lister *l);
/* Returns the list of files if it has changed, else NULL. Call lister_taken() after it was used. *ret_all is false if
 * there are more files than the list has. Reports what hangs, once. */
const struct task_found *lister_turn(struct lister *l, const struct jobs_options *o, size_t *ret_n, bool *ret_all);
void lister_taken(struct lister *l);
void lister_free(struct lister *l); /* NULL allowed */

/* task_reader.c */
/* Starts to read a file, if no other is being read. Returns 0 or a negative code; -EBUSY: too many processes hang. */
int reader_start(struct reader *r, struct task_entry *f, const struct jobs_options *o);
size_t reader_left(struct reader *r);                             /* returns how many processes hang */
bool reader_wait(struct reader *r, uint64_t until_ns);            /* returns whether the process has ended by then */
void reader_cancel(struct reader *r, const struct task_entry *f); /* ignores the result if f is being read */
void reader_done(struct reader *r);

/* left.c */
void left_list(struct left_tapes *l, int dir_fd); /* lists all tapes of the folder */
void left_done(struct left_tapes *l);
/* Begins the next part of the newest tape whose name ends with this text. Returns the descriptor of its next segment,
 * or -ENOENT if there is no such tape. */
int left_continue(struct left_tapes *l, struct job_entry *e, const char *ending);
bool left_has(const struct left_tapes *l, int dir_fd, const char *ending); /* is there such a tape? */
void left_give_back(struct left_tapes *l, struct job_entry *e); /* undoes left_continue(): the job could not begin */
void left_close_one(struct left_tapes *l, int dir_fd);          /* closes one tape, whose job has ended */

/* total.c */
/* Goes on until about until_ns. Returns how long to wait at least. */
uint64_t total_check(struct jobs *j, uint64_t until_ns);

/* tape.c */
int job_tape_open(struct job_entry *e, struct baro_error *err); /* sets options.tape_fd and segments */
/* Has another observer left a tape of this job, which this one goes on with? */
bool job_tape_is_left(const struct jobs *j, const struct job_request *q);
void job_tape_discard(struct job_entry *e); /* removes the tape: nothing was recorded */
void job_tape_close(struct job_entry *e);

#endif
