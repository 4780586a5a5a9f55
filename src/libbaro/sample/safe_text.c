/* SPDX-License-Identifier: Apache-2.0 */
#include "baro/text.h"

#include <signal.h>
#include <string.h>

#include "base/escape.h"

size_t baro_text_next(const char *text, size_t len, char ret[BARO_TEXT_NEXT_SIZE])
{
    struct span rest = span_of(text, len), written = {0};
    char room[4];
    if (len)
        written = escape_next(&rest, room);
    if (written.len)
        memcpy(ret, written.at, written.len);
    ret[written.len] = 0;
    return len - rest.len;
}

size_t baro_text_escape(const char *text, size_t len, char *ret, size_t size)
{
    struct span rest = span_of(text, len);
    size_t all = 0, fits = 0;
    char room[4];
    while (rest.len) {
        struct span written = escape_next(&rest, room);
        if (fits == all && written.len < size - all) { /* everything before it was written */
            memcpy(ret + fits, written.at, written.len);
            fits += written.len;
        }
        all += written.len;
    }
    if (size)
        ret[fits] = 0;
    return all;
}

/* sigabbrev_np() came with glibc 2.32. Numbers differ between architectures, so they are never written here. */
#define NAME(n)                                                                                                        \
    {                                                                                                                  \
        n, #n                                                                                                          \
    }
static const struct {
    int number;
    const char *name;
} signals[] = {
    NAME(SIGHUP),  NAME(SIGINT),    NAME(SIGQUIT), NAME(SIGILL),  NAME(SIGTRAP),   NAME(SIGABRT), NAME(SIGBUS),
    NAME(SIGFPE),  NAME(SIGKILL),   NAME(SIGUSR1), NAME(SIGSEGV), NAME(SIGUSR2),   NAME(SIGPIPE), NAME(SIGALRM),
    NAME(SIGTERM), NAME(SIGSTKFLT), NAME(SIGCHLD), NAME(SIGCONT), NAME(SIGSTOP),   NAME(SIGTSTP), NAME(SIGTTIN),
    NAME(SIGTTOU), NAME(SIGURG),    NAME(SIGXCPU), NAME(SIGXFSZ), NAME(SIGVTALRM), NAME(SIGPROF), NAME(SIGWINCH),
    NAME(SIGIO),   NAME(SIGPWR),    NAME(SIGSYS),
};

const char *baro_signal_name(int number)
{
    for (size_t i = 0; i < sizeof(signals) / sizeof(*signals); i++) {
        if (signals[i].number == number)
            return signals[i].name;
    }
    return NULL;
}
