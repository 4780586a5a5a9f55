/* SPDX-License-Identifier: Apache-2.0 */
/* What directories take (--du): a line for each. */
#include <string.h>

#include "base/clock.h"
#include "base/fmt.h"
#include "output/rows/escaped.h"
#include "output/text/parts.h"
#include "output/text/read_fact.h"

#define DIRECTORIES_MOST 16u /* lines; the JSON has all */
#define OLD (2 * NS_PER_SEC) /* an age from here on is mentioned */
#define SPARSE 10u           /* the two sizes differ by more than a tenth */

static struct baro_value directory_fact(const struct baro_summary *s, const char *name, size_t i)
{
    return report_row(s, "directories", name, i);
}

static void put_count(struct buf *b, struct baro_value v, const char *one, const char *more)
{
    if (v.absent)
        return;
    report_marked(b, v, fmt_count);
    buf_printf(b, " %s", v.u64 == 1 ? one : more);
}

static void sizes(struct lines *l, struct buf *b, const struct baro_summary *s, size_t i)
{
    struct baro_value used = directory_fact(s, "used_bytes", i), apparent = directory_fact(s, "apparent_bytes", i),
                      peak = directory_fact(s, "used_peak_bytes", i);
    report_marked(b, used, fmt_bytes);
    lines_part(l, b);
    if (!peak.absent && peak.u64 > used.u64)
        lines_say(l, "peak %s", MARKED(peak, fmt_bytes));
    if (!apparent.absent && apparent.u64 > used.u64 + used.u64 / SPARSE)
        lines_say(l, "files of %s (sparse)", MARKED(apparent, fmt_bytes));
    put_count(b, directory_fact(s, "files", i), "file", "files");
    buf_str(b, " in ");
    put_count(b, directory_fact(s, "directories", i), "directory", "directories");
    lines_part(l, b);
}

static void notes(struct lines *l, struct buf *b, const struct baro_summary *s, size_t i)
{
    struct baro_value unread = directory_fact(s, "unread", i), read = directory_fact(s, "read_age_ns", i);
    uint64_t wall_ns = report_u64(s, "", "wall_ns");
    if (!unread.absent && unread.u64) {
        put_count(b, unread, "entry", "entries");
        buf_str(b, " not counted");
        lines_part(l, b);
    }
    if (!read.absent && wall_ns > read.u64 + OLD)
        lines_say(l, "as of %s before the end", DURATION(wall_ns - read.u64));
}

static void directory(struct lines *l, const struct baro_summary *s, size_t i)
{
    struct buf b = {0};
    struct baro_value used = directory_fact(s, "used_bytes", i);
    lines_begin(l, i ? "" : "disk of", TONE_FAINT);
    lines_path(l, &b, directory_fact(s, "path", i).text, l->style.width - LINES_INDENT);
    const char *task = directory_fact(s, "task", i).text;
    if (task) {
        buf_str(&b, " (");
        text_escaped(&b, task, strlen(task));
        buf_byte(&b, ')');
    }
    buf_byte(&b, ':');
    buf_byte(&b, ' ');
    if (used.absent)
        buf_printf(&b, "not known: %s",
                   used.absent == BARO_ABSENT_UNKNOWN ? "not a directory, or it could not be read"
                                                      : report_reason(used.absent));
    else
        sizes(l, &b, s, i);
    lines_part(l, &b);
    notes(l, &b, s, i);
    lines_finish(l, &b);
}

void report_directories(struct lines *l, const struct baro_summary *s)
{
    size_t n = report_rows(s, "directories");
    for (size_t i = 0; i < n && i < DIRECTORIES_MOST; i++)
        directory(l, s, i);
    if (n <= DIRECTORIES_MOST)
        return;
    lines_begin(l, "", TONE_FAINT);
    lines_say(l, "%zu more directories (baro export --entity directory)", n - DIRECTORIES_MOST);
    lines_end(l);
}
