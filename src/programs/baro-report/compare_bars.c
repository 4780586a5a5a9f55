/* SPDX-License-Identifier: Apache-2.0 */
#include "programs/baro-report/compare_bars.h"

#include <math.h>
#include <stdlib.h>

#include "base/fmt.h"
#include "base/sorted.h"
#include "output/text/read_fact.h"
#include "programs/baro-report/diff.h"

#define OUTLIERS_MOST 3u /* of a command that have a line */
#define BAR_LEAST 10u
#define FIGURES 38u /* columns beside a bar */

void wall_times_of(const double *sorted, size_t n, struct wall_times *ret)
{
    *ret = (struct wall_times){.least = sorted[0], .median = sorted_median(sorted, n), .most = sorted[n - 1]};
    ret->has_interval = sorted_median_interval(sorted, n, ret->interval);
    if (!ret->has_interval) {
        ret->interval[0] = ret->least;
        ret->interval[1] = ret->most;
    }
}

/* "1.20 s (1.18 s to 1.31 s)" */
static void put_figures(const struct wall_times *w, struct buf *b)
{
    fmt_duration(b, whole_of(w->median + 0.5));
    buf_str(b, " (");
    fmt_duration(b, whole_of(w->interval[0] + 0.5));
    buf_str(b, " to ");
    fmt_duration(b, whole_of(w->interval[1] + 0.5));
    buf_byte(b, ')');
}

void compare_bars(const struct wall_times *commands, unsigned n, unsigned width, bool utf8, struct buf *ret)
{
    unsigned cells = width > FIGURES + BAR_LEAST ? width - FIGURES : BAR_LEAST;
    bool has_interval = true, is_beyond = false;
    double most = 0;
    for (unsigned i = 0; i < n; i++) {
        most = commands[i].most > most ? commands[i].most : most;
        has_interval = has_interval && commands[i].has_interval;
    }
    for (unsigned i = 0; i < n && most > 0; i++) {
        const struct wall_times *w = &commands[i];
        buf_printf(ret, "%c  ", 'a' + (int)i);
        for (unsigned k = 0; k < cells; k++) {
            double at = most * (k + 0.5) / cells, half = most / cells / 2; /* the middle of the cell */
            bool is_interval = at + half > w->interval[0] && at - half <= w->interval[1];
            is_beyond = is_beyond || (at - half > w->interval[1] && at - half <= w->most);
            if (at + half > w->median && at - half <= w->median)
                buf_str(ret, utf8 ? "┃" : "|");
            else if (is_interval)
                buf_str(ret, utf8 ? "▒" : "=");
            else if (at < w->interval[0])
                buf_str(ret, utf8 ? "█" : "#");
            else
                buf_str(ret, at - half > w->most ? " " : utf8 ? "─" : "-");
        }
        buf_byte(ret, ' ');
        put_figures(w, ret);
        buf_byte(ret, '\n');
    }
    buf_printf(ret, "%s the median, %s %s", utf8 ? "┃" : "|", utf8 ? "▒" : "=",
               has_interval ? "its interval of 95 %" : "all runs (six tell the median's interval)");
    if (is_beyond)
        buf_printf(ret, ", %s up to the longest run", utf8 ? "─" : "-");
    buf_byte(ret, '\n');
}

/* Is it beyond three times the distance from the median to the farther quartile, and by a tenth of the median? Example:
 * nine of ten runs took 1.40 to 1.50 s, the median is 1.45: a run of 2.1 s is far, and one of 1.58 is not. */
static bool is_far(double wall, const double *sorted, size_t n)
{
    double median = sorted_median(sorted, n), low = median - sorted[n / 4], high = sorted[n - 1 - n / 4] - median;
    double quarter = low > high ? low : high, distance = fabs(wall - median);
    return distance > 3 * quarter && distance > median / 10 && distance > 10e6;
}

void compare_outliers(const struct baro_runset *set, size_t from, char command, struct buf *ret)
{
    size_t to = baro_runset_runs(set), row = diff_job_row(set, "wall_ns"), far = 0;
    double *all = calloc(to, sizeof(*all));
    size_t n = all ? diff_values(set, row, from, to, to, all) : 0;
    for (size_t i = from; n >= 4 && i < to; i++) {
        struct baro_value v;
        if (baro_runset_value(set, row, i, &v) != BARO_PRESENT || !is_far(v.real, all, n) || ++far > OUTLIERS_MOST)
            continue;
        bool is_least = v.real <= all[0], is_most = v.real >= all[n - 1];
        buf_printf(ret, "run %zu%s%.1s took ", i - from + 1, command ? " of " : "", command ? &command : "");
        fmt_duration(ret, whole_of(v.real + 0.5));
        buf_str(ret, ", the others ");
        fmt_duration(ret, whole_of(all[is_least] + 0.5));
        buf_str(ret, " to ");
        fmt_duration(ret, whole_of(all[n - 1 - is_most] + 0.5));
        buf_str(ret, ": ");
        if (!noise_of_run(set, i, from, to, ret))
            buf_str(ret, "its tape does not say why");
        buf_byte(ret, '\n');
    }
    if (far > OUTLIERS_MOST)
        buf_printf(ret, "and %zu more are far from the others\n", far - OUTLIERS_MOST);
    free(all);
}
