/* SPDX-License-Identifier: Apache-2.0 */
/* What the command of a collector program prints: readings, and lines of standard error. */
#include <string.h>
#include <unistd.h>

#include "base/clock.h"
#include "base/fd.h"
#include "recorder/collectors/programs/program_child.h"

#define ROUND (64u << 10) /* bytes read from a pipe before other work has its turn */

static void take_piece(struct runner *r, struct span piece)
{
    struct reading *reading = &r->shared->mailbox.slot[r->slot];
    bool good = reading_parse(r->parser, piece, reading);
    if (reading->bad_lines && !r->status.bad_lines)
        memcpy(r->status.bad, reading->bad, sizeof(r->status.bad));
    r->status.bad_lines += reading->bad_lines;
    r->status.cut += reading->cut_columns + reading->cut_rows + reading->cut_cells;
    if (!good)
        return;
    reading->read_ns = r->reading_ns = r->first_ns;
    r->status.readings++;
    r->readings++;
    r->silent = false;
    r->slot = mailbox_put(&r->shared->mailbox, r->slot);
}

void runner_take_readings(struct runner *r, bool ended)
{
    struct span last = {NULL, 0};
    size_t begin = 0, n;
    while (begin < r->len && (n = reading_next(&r->frame, span_of(r->text + begin, r->len - begin), ended)) > 0) {
        struct span piece = span_of(r->text + begin, n);
        begin += n;
        r->frame = (struct reading_frame){0};
        if (r->skipping || strspn(piece.at, " \t\r\n") >= n) { /* text ends with a NUL */
            r->skipping = false;
            continue;
        }
        last = piece;
    }
    if (last.len)
        take_piece(r, last);
    if (!begin)
        return;
    r->len -= begin;
    memmove(r->text, r->text + begin, r->len);
    r->text[r->len] = 0;
    if (strspn(r->text, " \t\r\n") == r->len) /* the end of the line: the next reading begins with its first byte */
        r->len = 0;
    r->first_ns = clock_monotonic_ns();
    r->frame = (struct reading_frame){0};
}

void runner_refill(struct runner *r)
{
    uint64_t now = clock_monotonic_ns(), more = (now - r->bytes_ns) / 1000 * BYTES_PER_SEC / 1000000;
    if (!more)
        return;
    r->bytes = r->bytes + more < BYTES_AT_ONCE ? r->bytes + more : BYTES_AT_ONCE;
    r->bytes_ns = now;
}

bool runner_read_output(struct runner *r)
{
    for (size_t sum = 0; sum < ROUND;) {
        size_t room = READING_BYTES - r->len, most = room < r->bytes ? room : r->bytes;
        ssize_t n = r->out_fd >= 0 && most ? read(r->out_fd, r->text + r->len, most) : -1;
        if (n < 0 || !most)
            return false;
        if (n == 0) {
            r->out_fd = fd_close(r->out_fd);
            return false;
        }
        if (!r->len)
            r->first_ns = clock_monotonic_ns();
        r->len += (size_t)n;
        r->text[r->len] = 0;
        r->bytes -= (size_t)n;
        sum += (size_t)n;
        runner_take_readings(r, false);
        if (r->len == READING_BYTES) {
            r->status.too_long += !r->skipping;
            r->skipping = true;
            r->len = 0;
            r->frame = (struct reading_frame){0};
        }
    }
    return true;
}

void runner_read_errors(struct runner *r)
{
    char text[4096];
    for (int rounds = 0; rounds < 16 && r->bytes >= sizeof(text) && r->err_fd >= 0; rounds++) {
        ssize_t n = read(r->err_fd, text, sizeof(text));
        if (n == 0)
            r->err_fd = fd_close(r->err_fd);
        if (n <= 0)
            return;
        r->bytes -= (uint64_t)n;
        for (ssize_t i = 0; i < n; i++) {
            if (text[i] == '\n') {
                r->n_words = 0;
                continue;
            }
            if (r->n_words + 1 < sizeof(r->status.words)) {
                r->status.words[r->n_words++] = text[i] ? text[i] : '?';
                r->status.words[r->n_words] = 0;
            }
        }
    }
}
