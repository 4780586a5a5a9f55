/* SPDX-License-Identifier: Apache-2.0 */
#include <signal.h>
#include <string.h>
#include <sys/wait.h>

#include "baro/text.h"
#include "report/report.h"

void report_status(int status, struct buf *ret)
{
    if (!WIFSIGNALED(status)) {
        buf_printf(ret, "exit %d", WEXITSTATUS(status));
        return;
    }
    const char *name = baro_signal_name(WTERMSIG(status));
    if (name)
        buf_printf(ret, "killed by %s", name);
    else
        buf_printf(ret, "killed by signal %d", WTERMSIG(status));
    if (WCOREDUMP(status))
        buf_str(ret, ", core dumped");
}

static bool needs_quotes(const char *word)
{
    static const char safe[] = "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789%+,-./:=@_^";
    size_t n = strspn(word, safe);
    return !*word || word[n];
}

void report_argument(const char *argument, struct buf *ret)
{
    bool quoted = needs_quotes(argument);
    buf_str(ret, quoted ? "'" : "");
    for (const char *c = argument; *c; c++) {
        if (*c == '\'')
            buf_str(ret, "'\\''");
        else
            buf_byte(ret, (uint8_t)*c);
    }
    buf_str(ret, quoted ? "'" : "");
}

void report_name(const struct baro_header *h, struct buf *ret)
{
    if (*baro_header_name(h))
        buf_str(ret, baro_header_name(h));
    else
        report_arguments(baro_header_argv(h), ret);
}

void report_arguments(const char *const *argv, struct buf *ret)
{
    for (size_t i = 0; argv[i]; i++) {
        buf_str(ret, i ? " " : "");
        report_argument(argv[i], ret);
    }
}
