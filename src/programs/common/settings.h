/* SPDX-License-Identifier: Apache-2.0 */
/* The values of the options of all commands. They are in one struct, so that tables of different commands can share
 * rows. */
#ifndef PROGRAMS_COMMON_SETTINGS_H
#define PROGRAMS_COMMON_SETTINGS_H

#include <stdbool.h>
#include <stdint.h>

#include "base/buf.h"

#define SETTINGS_PIDS_MAX 64
#define SETTINGS_DIRECTORIES_MAX 64
#define SETTINGS_LIMITS 5

/* record: which processes, by their commands */
#define SETTINGS_RULES_MAX 64
struct select_settings {
    struct rule_setting {
        const char *name, *text; /* name: of the task, not terminated; NULL: the text is its name */
        int name_len;
        bool is_name; /* --exact */
        bool is_task; /* --task */
    } rules[SETTINGS_RULES_MAX];
    int n_rules;
    int on; /* what is matched: enum match_on */
    bool children, has_uid;
    uint32_t uid;
    int32_t under;    /* 0: any */
    const char *file; /* --tasks; NULL: none */
    const char *old;  /* what to say of an option that has another name now; NULL: nothing */
};

/* diff: patterns of the tapes of both sides */
#define SIDES_MOST 64u
struct diff_settings {
    const char *before[SIDES_MOST], *after[SIDES_MOST];
    size_t n_before, n_after;
};

struct compare_settings {
    uint32_t runs, warmup;
    bool is_set; /* run: --runs was given */
    bool ignore_failure, show_output, no_shell;
    const char *prepare, *list, *keep, *export_json; /* NULL: not given */
};

/* check */
#define LIMITS_GIVEN_MOST 64u
struct check_settings {
    const char *max[LIMITS_GIVEN_MOST]; /* --max */
    size_t n_max;
    const char *budget, *base, *why, *junit, *gitlab_metrics, *gitlab_quality; /* NULL: not given */
    int unknown;                                                               /* 0: warn, 1: fail; -1: not given */
    bool update;
};

#define SETTINGS_TAGS_MAX 64
struct tag_settings {
    const char *at[SETTINGS_TAGS_MAX]; /* KEY=VALUE each; no two have the same key */
    int n;
};

/* ls, trend, advise: which runs, and what of them */
struct log_settings {
    const char *command, *sort, *for_what; /* NULL: not given */
    uint64_t since_ns;                     /* 0: all */
    uint32_t last;                         /* the newest so many; 0: all */
    double risk;
    bool failed;
};

struct record_settings {
    const char *output;           /* -o FILE; NULL: a new one among the kept runs */
    bool force;                   /* replace an existing output */
    uint64_t keep_ns, keep_bytes; /* --keep; 0: not given */
    uint64_t thin_ns;             /* --thin-after; 0: not given */
    uint64_t reserve_bytes;       /* --reserve; UINT64_MAX: not given */
    bool quiet;                   /* no summary at the end */
    bool verbose;                 /* all of the summary */
    bool background;              /* record: the recorder is a process that nobody waits for */
    bool top;                     /* run: the live view beside the command */
    bool mlflow;                  /* run: sent to MLflow by the Python package */
    const char *push;             /* sent to this URL by baro push; NULL: not */
    uint64_t interval_ns;         /* 0: auto */
    uint64_t wanted;              /* mask of process metrics */
    bool cmdline;                 /* keep command lines */
    uint64_t overhead_ppm;        /* millionths of a core; 0: no limit */
    bool subreaper;               /* run: adopt orphans */
    bool wait_all;                /* run: return when all that the command started has ended */
    const char *task;             /* run: --task NAME; NULL: none */
    const char *check;            /* run: the budget that it is checked with at the end; NULL: none */
    const char *name;             /* of the recording; NULL: none */
    const char *note;             /* on the recording; NULL: none */
    bool host;                    /* the machine is recorded, too */
    bool machine;                 /* record: --host was given: the machine, with no process if none was named */
    bool all;                     /* record: all processes of the machine */
    uint64_t for_ns;              /* record: for so long; 0: until it is over */
    bool children;                /* record: descendants too */
    int32_t pids[SETTINGS_PIDS_MAX];
    int n_pids;
    int until_all;      /* record: ends when all descendants have ended, too */
    const char *cgroup; /* record: a control group */
    struct select_settings select;
    const char *events;               /* record: a file whose lines are marks and phases */
    int own_group;                    /* run: enum own_mode */
    uint64_t limits[SETTINGS_LIMITS]; /* run: --limit, by enum limit_kind; 0: none */
    bool on_limit;                    /* run: --on-limit was given */
    int limit_signal;                 /* run: --on-limit; 0: a limit is only noted */
    uint64_t limit_grace_ns;
    const char *directories[SETTINGS_DIRECTORIES_MAX]; /* --du */
    int n_directories;
    uint64_t directories_every_ns; /* --du-every; 0: not given */
    const char *gpu;               /* --gpu */
};

#define SETTINGS_PATTERNS_MAX 64
struct observe_settings {
    const char *dir;                             /* folder of the tapes; NULL: that of the user */
    const char *patterns[SETTINGS_PATTERNS_MAX]; /* patterns of control groups */
    int n_patterns;
    const char *tasks;    /* a folder of task files; NULL: none */
    int names;            /* enum record_names */
    uint64_t total_bytes; /* bytes of all tapes; 0: no limit */
};

/* serve */
#define SETTINGS_LISTEN_MAX 8
#define SETTINGS_HOSTS_MAX 16
#define SETTINGS_OBSERVE_MAX 140
struct serve_settings {
    const char *listen[SETTINGS_LISTEN_MAX]; /* none: the default */
    int n_listen;
    const char *hosts[SETTINGS_HOSTS_MAX]; /* names that a Host header may have besides those of this machine */
    int n_hosts;
    const char *token_file;                    /* NULL: none */
    uint32_t clients;                          /* connections at once; 0: the default */
    uint64_t unsent_bytes;                     /* bytes of answers that clients have not taken; 0: the default */
    uint32_t metrics_processes;                /* processes of each job in /metrics */
    const char *observe[SETTINGS_OBSERVE_MAX]; /* arguments of the baro observe that it starts */
    int n_observe;
    bool announced; /* with a folder, list the announced runs as well */
    bool observes;  /* a control group or a folder of task files is among them */
};

/* push */
struct push_settings {
    const char *to, *token_file, *ca_file; /* NULL: not given */
    uint64_t every_ns;                     /* 0: the default */
    bool status;
};

/* --task and --tasks of commands that read: lines for baro_tape_set_tasks(); empty: none was given. */
struct task_settings {
    struct buf lines;
    const char *only; /* show: the processes of this task alone; NULL: all */
};

/* From BY_SERVICE on: the word is what baro_tape_set_tasks() takes. */
enum settings_by { BY_NOTHING = -1, BY_PHASE, BY_TASK, BY_STEP, BY_SERVICE };

enum settings_format {
    FORMAT_CSV,
    FORMAT_JSONL,
    FORMAT_TRACE,
    FORMAT_ARROW,
    FORMAT_PARQUET,
    FORMAT_SQLITE,
};
extern const char *const export_formats[]; /* their names; ended by NULL */
extern const char *const group_by_names[]; /* service, ...; ended by NULL */

struct settings {
    struct record_settings record;
    struct tag_settings tags; /* --tag: of the recording; ls: which are listed */
    struct observe_settings observe;
    struct serve_settings serve;
    struct push_settings push;
    struct task_settings tasks;
    struct diff_settings diff;
    struct compare_settings compare;
    struct log_settings log;
    struct check_settings check;
    bool json;
    bool in_folder;
    bool begins, ends; /* mark: the edge of a phase */
    int by;            /* summary: enum settings_by */
    int group_by;      /* index into group_by_names: whose processes are together; -1: nobody's */
    bool follow;
    bool yes, all;
    bool verbose;   /* summary: all of it; check: all limits */
    double carbon;  /* summary: grams for a kWh; 0: nothing was said */
    bool metrics;   /* doctor: each of them */
    uint32_t count; /* ls, show: at most this many lines; UINT32_MAX: all; 0: as many as fit */
    bool force;
    const char *output;     /* NULL: standard output */
    const char *at;         /* show, top: when */
    bool once;              /* top: print and end */
    int pick;               /* show: enum baro_pick, which sample */
    unsigned width, height; /* plot: in pixels or columns and lines; 0: what fits */
    const char *from, *to;  /* plot, trim: the stretch of time */
    const char *phase;      /* trim: the stretch of a phase */
    const char *samples;    /* trim: the stretch of so many samples */
    uint64_t thin_after_ns; /* thin: how old what is thinned is; 0: a day */
    const char *key;        /* anonymize: the file of the key; NULL: a random key */
    bool list;              /* plot: the figures; check: the limits */
    int format;             /* export */
    bool markdown;          /* diff, check: write Markdown */
    bool github;            /* report, check: append to the job summary of GitHub Actions */
    int report_format;      /* -1: by the end of the output's name */
    const char *entity;     /* export: the name of a kind; NULL: process, or what the dialect is of */
    bool safe;              /* export: no text in CSV is a formula */
    const char *columns;    /* NULL: all */
    const char *fleet;      /* export: the folder of the tables of many jobs; NULL: none */
    bool jobstats;          /* export: a job as jobstats keeps it */
    bool smi_rounding;      /* export: GPU values of a dialect as nvidia-smi has them */
    int dialect;            /* index into dialect_names; -1: none */
};

/* Sets the default values: those of all commands, and those of the commands that read tapes. */
void settings_init(struct settings *s);
void settings_init_reading(struct settings *s);

#endif
