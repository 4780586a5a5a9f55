/* SPDX-License-Identifier: Apache-2.0 */
/* What the files of this folder share. */
#ifndef RECORDER_OBSERVE_STATE_H
#define RECORDER_OBSERVE_STATE_H

#include <limits.h>
#include <sys/types.h>

#include "base/buf.h"
#include "recorder/observe/jobs.h"
#include "recorder/select/select.h"
#include "recorder/select/task_file.h"

struct jobs;
struct lister;

/* A job that is recorded. */
struct job_entry {
    struct jobs *jobs;
    struct recorder *recorder;
    char *name; /* what it is known by: the path of a control group, or the name of a job of tasks */
    /* The inode of its control group, as another group may have had the same name; or which version of a task file it
     * is. */
    uint64_t id;
    struct record_options options;
    struct task_file *file; /* NULL: it is not a job of tasks */
    struct select_options tasks;
    /* tape.c */
    struct segments_writer segments;
    bool segment_reported, begun;
    char *folder; /* its name in the folder of the tapes */
    /* left.c: what another observer has recorded; until the job has begun */
    struct baro_tape *before, *newest; /* all of it; its newest segment */
    struct baro_sample *last;
    struct record_resume resume;
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
    uint64_t owner; /* no part of the identity: one that has another owner may be read now */
};

/* A file of --tasks. */
#define TASK_FILES_MOST 10000u
struct task_entry {
    char *name;
    struct task_version version;
    bool seen;                       /* in the search that is going on */
    bool is_unread;                  /* this version of it was not read yet */
    struct job_entry *job;           /* NULL: it has an error, or the job is over */
    uint64_t retry_ns;               /* CLOCK_MONOTONIC; when it is tried again; 0: never */
    struct pin pin;                  /* the control group that it waits for; line 0: reading it hung */
    char *group;                     /* that control group */
    unsigned said_line, said_column; /* the last place in it for which that was said */
    unsigned n_hung;                 /* how often reading it took too long; it comes after those with less */
};

/* The process that reads one of them. One that hangs is killed and left behind: it may end much later. */
#define READERS_LEFT_MOST 8u
struct reader {
    pid_t pid;                /* 0: none */
    int fd;                   /* -1: all was read, or it was killed */
    struct task_entry *entry; /* NULL: it has changed meanwhile */
    char path[PATH_MAX];
    struct buf lines;
    int status;
    bool is_late;
    uint64_t began_ns;             /* CLOCK_MONOTONIC */
    pid_t left[READERS_LEFT_MOST]; /* that were killed and have not ended yet */
    size_t n_left;
};

struct task_files {
    struct lister *lister;
    bool is_listed; /* once */
    struct task_entry **at;
    size_t n, found;
    struct reader reader;
    uint64_t retry_ns; /* CLOCK_MONOTONIC; there were no descriptors or memory for a job: none is begun before */
    bool said_many, said_left;
};

struct paths {
    char **at;
    size_t n, cap;
};

/* Control groups that were removed before they could be recorded. */
struct missed {
    int fd; /* of inotify; -1: none */
    struct missed_folder {
        int wd;
        char *path, *pattern; /* of the names of groups in it */
    } * at;
    size_t n, cap;
    struct paths pending; /* groups that were made and have not been recorded */
    struct paths begun;   /* in the last search, whose event was not read by then */
    uint64_t count, said;
    bool is_lower_bound;
    uint64_t due_ns; /* CLOCK_MONOTONIC */
};

struct jobs {
    const struct jobs_options *options;
    struct job_entry **at; /* by name */
    size_t n, cap;
    struct left_tapes left;
    struct task_files task_files;
    struct missed missed;
    bool folder_was_link;
    uint64_t folder_retry_ns; /* CLOCK_MONOTONIC; 0: the folder is there */
    uint64_t failed_ns;       /* CLOCK_MONOTONIC; when a job could not be recorded */
    uint64_t total_due_ns;    /* CLOCK_MONOTONIC */
    bool total_reported;
    bool were_searched; /* once, for control groups that match */
};

/* What is there to be recorded. */
struct job_request {
    const char *name;
    uint64_t id;
    const char *cgroup;
    struct task_file *tasks; /* taken if the job begins; without this and a cgroup it is the machine */
    const char *task_file;   /* the path of these tasks, for errors */
};
/* Begins a job; for files of tasks. Returns 0 or a negative code. */
typedef int job_begin_fn(void *context, const struct job_request *q, struct job_entry **ret, struct baro_error *err);

/* folder.c: returns whether tapes can be made. If the folder was removed or replaced, it is made and opened again, all
 * jobs end, and begin in what is there now. */
bool folder_check(struct jobs *j, struct observer *observer);
bool folder_is_link(const char *path);

/* missed.c */
void missed_init(struct missed *m);
void missed_read(struct missed *m); /* before each search */
void missed_watch(struct missed *m, const char *folder, const char *pattern);
void missed_begun(struct missed *m, const char *path); /* the group is recorded */
void missed_say(struct missed *m, const struct jobs_options *o, bool at_end);
void missed_done(struct missed *m);

/* Says that a job can't be recorded, unless another one could not within the last minute. */
void jobs_say_failed(struct jobs *j, const char *line);

/* groups.c: calls fn for each control group that matches and has processes, unless it is known. groups_each() returns
 * how many match. fn returns whether it is recorded now. */
typedef bool groups_known_fn(void *context, const char *path, uint64_t inode);
typedef bool groups_fn(void *context, const char *path, uint64_t inode);
struct groups_search {
    groups_known_fn *known;
    groups_fn *fn;
    void *context;
    struct missed *missed;
};
size_t groups_each(const char *pattern, const struct groups_search *s);

/* task_files.c: one turn, until about until_ns. Returns whether there are more files to read now. */
bool task_files_turn(struct jobs *j, struct observer *o, uint64_t until_ns, job_begin_fn *fn, void *context);
bool task_files_are_read(const struct task_files *t); /* each that is there now */
void task_files_again(struct task_files *t);          /* makes jobs that are recorded begin once more */
void task_files_ended(struct jobs *j, const struct job_entry *e);
void task_files_done(struct task_files *t);

/* lister.c: which files there are, as a process of its own finds out. */
struct task_found {
    char name[NAME_MAX + 1];
    struct task_version version;
    bool is_unknown; /* reading its version hangs */
};
size_t task_stem_length(const char *name); /* "nightly.yaml": 7; 0: no task file, or a hidden one, as editors write */
int lister_new(struct lister **ret, const char *path, struct baro_error *err);
struct worker *lister_worker(struct lister *l);
/* All files that are there, if that has changed; else NULL. Then lister_taken() when they have been read. ret_all is
 * false where there are too many: others may be there. Says what hangs, once. */
const struct task_found *lister_turn(struct lister *l, const struct jobs_options *o, size_t *ret_n, bool *ret_all);
void lister_taken(struct lister *l);
void lister_free(struct lister *l); /* NULL allowed */

/* reader.c */
/* Unless one is at work. Returns 0 or a negative code; -EBUSY: too many hang. */
int reader_start(struct reader *r, struct task_entry *f, const struct jobs_options *o);
size_t reader_left(struct reader *r);                             /* Returns how many hang. */
bool reader_wait(struct reader *r, uint64_t until_ns);            /* Returns whether it has ended by then. */
void reader_cancel(struct reader *r, const struct task_entry *f); /* it does not matter any more what it reads of f */
void reader_done(struct reader *r);

/* left.c */
void left_list(struct left_tapes *l, int dir_fd); /* all tapes of the folder */
void left_done(struct left_tapes *l);
/* Goes on with the tape whose name ends like this. Returns the descriptor of its next segment, or -ENOENT: there is
 * none. left_release() when the job has begun. */
int left_continue(struct left_tapes *l, struct job_entry *e, const char *ending);
bool left_has(const struct left_tapes *l, int dir_fd, const char *ending); /* is there one? */
void left_release(struct job_entry *e);
void left_give_back(struct left_tapes *l, struct job_entry *e); /* it could not begin */
void left_close_one(struct left_tapes *l, int dir_fd);          /* one whose job is over */

/* total.c */
void total_check(struct jobs *j);

/* tape.c */
int job_tape_open(struct job_entry *e, struct baro_error *err); /* sets options.tape_fd and what writes the segments */
/* Has another observer left a tape of this job, with which this one can go on? */
bool job_tape_is_left(const struct jobs *j, const struct job_request *q);
void job_tape_discard(struct job_entry *e); /* nothing was recorded */
void job_tape_close(struct job_entry *e);

#endif
