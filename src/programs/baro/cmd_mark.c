/* SPDX-License-Identifier: Apache-2.0 */
/* baro mark: names a moment of the job. Without a recording it does nothing and succeeds, so that scripts run either
 * way. */
#include <errno.h>
#include <string.h>

#include "base/clock.h"
#include "programs/baro/mark_line.h"
#include "programs/common/cli.h"

/* Operands without '=' are the name, with blanks between them. */
static void name_of(char **argv, struct buf *ret)
{
    for (size_t i = 0; argv[i]; i++) {
        if (i && strchr(argv[i], '='))
            continue;
        buf_str(ret, i ? " " : "");
        buf_str(ret, argv[i]);
    }
    buf_byte(ret, 0);
}

int cmd_mark(struct cli *cli, const struct settings *s, char **argv)
{
    uint64_t now = clock_monotonic_ns();
    struct buf name = {0}, line = {0};
    int code = -ENOMEM;
    if (s->begins && s->ends)
        return cli_failf(cli, "--begin and --end: one of them");
    name_of(argv, &name);
    if (!name.failed) {
        mark_line_begin(&line, s->begins ? "begin" : s->ends ? "end" : "mark", (const char *)name.at, now);
        for (size_t i = 1; argv[i]; i++)
            mark_line_attribute(&line, argv[i]);
        code = mark_line_append(&line);
    }
    if (code < 0 && !s->record.quiet)
        cli_note(cli, "nothing is marked: %s", mark_line_why(code));
    buf_done(&name);
    buf_done(&line);
    return 0;
}
