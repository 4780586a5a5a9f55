/* SPDX-License-Identifier: Apache-2.0 */
/* A summary as text for people. */
#ifndef OUTPUT_TEXT_SUMMARY_TEXT_H
#define OUTPUT_TEXT_SUMMARY_TEXT_H

#include "baro/summary.h"
#include "baro/timeline.h"
#include "baro/verdict.h"
#include "base/buf.h"

struct report_style {
    unsigned width;   /* columns of the terminal */
    bool whole_names; /* names in rows and tables are not cut, however wide they are */
    bool utf8;        /* may show more than ASCII */
    bool color;
    bool curves; /* small curves of CPU, memory and I/O: for a terminal of 80 columns and more */
    const struct baro_timeline *timeline; /* its phases are drawn under the curves, or are a table; NULL: none are */
    bool running;                         /* the tape is still written */
    bool ended;                           /* its recorder says so: a tape that another one goes on with has no end */
    long zone;                            /* local time zone when the recording began: seconds east of UTC */
};

/* The block of lines at the end of a run. The summary is finished; tape: its path, NULL if it has none. */
void report_block(const struct baro_summary *s, const char *tape, struct report_style style, struct buf *ret);

/* The short block: at most 15 lines. verdicts: NULL if it was not judged. tape: its path or a name such as "@1". */
void report_glance(const struct baro_summary *s, const struct baro_verdicts *verdicts, const char *tape,
                   struct report_style style, struct buf *ret);

/* Writes all verdicts in full; nothing if there are none. */
void report_verdicts(const struct baro_verdicts *verdicts, struct report_style style, struct buf *ret);

/* Is the verdict about how the job ended? */
bool report_is_end(const struct baro_verdict *v);

/* Writes, in their place, a line that says where the verdicts are. */
void report_no_verdicts(struct report_style style, struct buf *ret);

/* Writes only the small curves, for other documents; nothing for a recording of less than a second, or below 80
 * columns. */
void report_course(const struct baro_summary *s, struct report_style style, struct buf *ret);

/*
 * Calls `visit` with the lines of the block as data, for other documents: once for each part of each line, in order,
 * with the label of the line. The title, the table of commands, and when and where the recording began are left out.
 * Names are escaped (text_escaped). The texts are borrowed during the call.
 */
typedef void report_visit(void *context, const char *label, const char *part, size_t len);
void report_words(const struct baro_summary *s, struct report_style style, report_visit *visit, void *context);

/* What was recorded, such as the command: raw bytes. */
void report_title(const struct baro_summary *s, struct buf *ret);

/* When a stretch of a recording was: "12:25:00 to 12:40:00"; with days, if it is longer than one. */
void report_stretch(const struct baro_summary *s, long zone, struct buf *ret);

/* How it ended, in words: "exit 0", "killed by SIGKILL", "running", ... */
enum report_result { REPORT_GOOD, REPORT_BAD, REPORT_CUT_OFF, REPORT_OTHER };
enum report_result report_result(const struct baro_summary *s, bool running, struct buf *ret);

/* What would allow perf, for `accounting.perf_refused`: a phrase. */
const char *report_perf_grant(const char *refused);

/* Writes one argument as a POSIX shell would read it, as raw bytes. If it has several lines: the first one that is
 * not empty, and " ...". report_arguments() puts single blanks between several arguments. */
void report_argument(const char *argument, struct buf *ret);
void report_arguments(const char *const *argv, struct buf *ret);
/* Adds ", rank 3 of 8"; nothing for the only rank, or if rank is "". ranks: 0 if it is not known. */
void report_rank(const char *rank, uint64_t ranks, struct buf *ret);
/* The name of a recording (raw bytes), or its command; with its rank. */
void report_name(const struct baro_header *h, struct buf *ret);

/* Returns why a value is absent, for people. Example: for "gone" (baro_absent_name) "it ended before it was read". */
const char *report_reason(int absent);

/* "exit 0", "SIGKILL", ... of a wait status. */
void report_status(int status, struct buf *ret);
/* The same where a limit may have ended the job: "limit rss, killed by SIGTERM". limit: its name, or ""; status -1: not
 * known, as the command could not be ended. */
void report_end(int status, const char *limit, struct buf *ret);

#endif
