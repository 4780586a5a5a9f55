/* SPDX-License-Identifier: Apache-2.0 */
#include <string.h>
#include <sys/wait.h>

#include "baro/text.h"
#include "base/escape.h"
#include "output/text/read_fact.h"
#include "output/text/summary_text.h"

const char *report_reason(int absent)
{
    switch (absent) {
    case BARO_ABSENT_NOT_ASKED: return "not asked for";
    case BARO_ABSENT_UNSUPPORTED: return "this kernel or machine does not have it";
    case BARO_ABSENT_DENIED: return "this user may not read it";
    case BARO_ABSENT_GONE: return "it ended before it was read";
    case BARO_ABSENT_NOT_YET: return "not read yet";
    case BARO_ABSENT_THINNED: return "left out to stay within the overhead budget";
    case BARO_ABSENT_TIMEOUT: return "the read did not return in time";
    case BARO_ABSENT_SHARED: return "counted with the process whose address space it uses";
    default: return "no source has it";
    }
}

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

void report_end(int status, const char *limit, struct buf *ret)
{
    if (*limit) {
        buf_str(ret, "limit ");
        buf_escaped(ret, limit, strlen(limit));
        buf_str(ret, status >= 0 ? ", " : "");
    }
    if (status >= 0)
        report_status(status, ret);
}

static bool needs_quotes(const char *word)
{
    static const char safe[] = "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789%+,-./:=@_^";
    size_t n = strspn(word, safe);
    return !*word || word[n];
}

static bool is_blank(char c)
{
    return c == ' ' || c == '\t' || c == '\n' || c == '\r';
}

/* Returns the first line of a script that is not empty. Example: bash -ec "\n make deps\n make\n" is
 * bash -ec 'make deps ...'. */
static size_t first_line(const char **text, bool *ret_more)
{
    const char *from = *text;
    size_t len;
    *ret_more = false;
    if (!strchr(from, '\n'))
        return strlen(from);
    while (is_blank(*from))
        from++;
    len = strcspn(from, "\n");
    for (const char *rest = from + len; *rest && !*ret_more; rest++)
        *ret_more = !is_blank(*rest);
    while (len && is_blank(from[len - 1]))
        len--;
    *text = from;
    return len;
}

void report_argument(const char *argument, struct buf *ret)
{
    bool more, quoted = needs_quotes(argument);
    size_t len = first_line(&argument, &more);
    buf_str(ret, quoted ? "'" : "");
    for (size_t i = 0; i < len; i++) {
        if (argument[i] == '\'')
            buf_str(ret, "'\\''");
        else
            buf_byte(ret, (uint8_t)argument[i]);
    }
    buf_str(ret, more ? " ..." : "");
    buf_str(ret, quoted ? "'" : "");
}

void report_rank(const char *rank, uint64_t ranks, struct buf *ret)
{
    if (!*rank || ranks == 1)
        return;
    buf_printf(ret, ", rank %s", rank);
    if (ranks)
        buf_printf(ret, " of %llu", (unsigned long long)ranks);
}

void report_name(const struct baro_header *h, struct buf *ret)
{
    if (*baro_header_name(h))
        buf_str(ret, baro_header_name(h));
    else
        report_arguments(baro_header_argv(h), ret);
    report_rank(report_header(h, "rank").text, report_header(h, "ranks").u64, ret);
}

void report_arguments(const char *const *argv, struct buf *ret)
{
    for (size_t i = 0; argv[i]; i++) {
        buf_str(ret, i ? " " : "");
        report_argument(argv[i], ret);
    }
}
