/* SPDX-License-Identifier: Apache-2.0 */
#include <signal.h>
#include <string.h>
#include <sys/wait.h>

#include "report/report.h"

/* sigabbrev_np() came with glibc 2.32. Numbers differ between architectures, so they are never written here. */
#define NAME(n) {SIG##n, #n}
static const struct {
    int number;
    const char *name;
} signals[] = {
    NAME(HUP),  NAME(INT),  NAME(QUIT), NAME(ILL),  NAME(TRAP), NAME(ABRT),   NAME(BUS),  NAME(FPE),
    NAME(KILL), NAME(USR1), NAME(SEGV), NAME(USR2), NAME(PIPE), NAME(ALRM),   NAME(TERM), NAME(STKFLT),
    NAME(CHLD), NAME(CONT), NAME(STOP), NAME(TSTP), NAME(TTIN), NAME(TTOU),   NAME(URG),  NAME(XCPU),
    NAME(XFSZ), NAME(VTALRM), NAME(PROF), NAME(WINCH), NAME(IO), NAME(PWR), NAME(SYS),
};

const char *report_signal_name(int number)
{
    for (size_t i = 0; i < sizeof(signals) / sizeof(*signals); i++) {
        if (signals[i].number == number)
            return signals[i].name;
    }
    return NULL;
}

void report_status(int status, struct buf *ret)
{
    if (!WIFSIGNALED(status)) {
        buf_printf(ret, "exit %d", WEXITSTATUS(status));
        return;
    }
    const char *name = report_signal_name(WTERMSIG(status));
    if (name)
        buf_printf(ret, "killed by SIG%s", name);
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

void report_arguments(const char *const *argv, struct buf *ret)
{
    for (size_t i = 0; argv[i]; i++) {
        bool quoted = needs_quotes(argv[i]);
        buf_str(ret, i ? " " : "");
        buf_str(ret, quoted ? "'" : "");
        for (const char *c = argv[i]; *c; c++) {
            if (*c == '\'')
                buf_str(ret, "'\\''");
            else
                buf_byte(ret, (uint8_t)*c);
        }
        buf_str(ret, quoted ? "'" : "");
    }
}
