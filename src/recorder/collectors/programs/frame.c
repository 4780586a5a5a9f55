/* SPDX-License-Identifier: Apache-2.0 */
/* Splits a stream of text into readings. */
#include "recorder/collectors/programs/reading.h"

static bool is_end_line(struct span line)
{
    while (line.len && strchr(" \t\r", line.at[line.len - 1]))
        line.len--;
    return span_equal(line, "# EOF");
}

size_t reading_next(struct reading_frame *f, struct span b, bool ended)
{
    struct span line, rest = span_of(b.at + f->at, b.len - f->at);
    while (memchr(rest.at, '\n', rest.len) && scan_line(&rest, &line)) {
        f->at = b.len - rest.len;
        if (is_end_line(line))
            return f->at;
    }
    return ended ? b.len : 0;
}
