/* SPDX-License-Identifier: Apache-2.0 */
#include "base/signal.h"

#include <signal.h>
#include <stddef.h>

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

const char *signal_name(int number)
{
    for (size_t i = 0; i < sizeof(signals) / sizeof(*signals); i++) {
        if (signals[i].number == number)
            return signals[i].name;
    }
    return NULL;
}
