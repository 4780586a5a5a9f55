/* SPDX-License-Identifier: Apache-2.0 */
#include "sample/sample.h"

#include <stdlib.h>
#include <string.h>

const char *baro_event_kind_name(enum baro_event_kind kind)
{
    static const char *const names[] = {
        [BARO_EVENT_START] = "start",
        [BARO_EVENT_EXEC] = "exec",
        [BARO_EVENT_SIGNAL] = "signal",
        [BARO_EVENT_STOP] = "stop",
        [BARO_EVENT_CONT] = "cont",
        [BARO_EVENT_GAP] = "gap",
        [BARO_EVENT_MISSED] = "missed",
        [BARO_EVENT_LOSSY] = "lossy",
        [BARO_EVENT_THINNED] = "thinned",
        [BARO_EVENT_CLOCK_STEP] = "clock_step",
        [BARO_EVENT_SUSPEND] = "suspend",
        [BARO_EVENT_WARNING] = "warning",
        [BARO_EVENT_WRAPPER_LOST] = "wrapper_lost",
        [BARO_EVENT_SURVIVOR] = "survivor",
        [BARO_EVENT_END] = "end",
        [BARO_EVENT_SOURCE] = "source",
    };
    _Static_assert(sizeof names / sizeof *names == BARO_EVENT_MAX, "each kind of event has a name");
    return (unsigned)kind < BARO_EVENT_MAX ? names[kind] : "";
}

void baro_process_done(struct baro_process *p)
{
    free(p->name);
    free(p->cmdline);
    p->name = NULL;
    p->cmdline = NULL;
}

static bool replace(char **text, const char *at, size_t len)
{
    char *copy = NULL;
    if (at) {
        copy = malloc(len + 1);
        if (!copy)
            return false;
        memcpy(copy, at, len);
        copy[len] = 0;
    }
    free(*text);
    *text = copy;
    return true;
}

bool baro_process_set_name(struct baro_process *p, const char *at, size_t len)
{
    return replace(&p->name, at, len);
}

bool baro_process_set_cmdline(struct baro_process *p, const char *at, size_t len)
{
    return replace(&p->cmdline, at, len);
}

bool baro_limits_equal(const struct baro_limits *a, const struct baro_limits *b)
{
    return a->memory_bytes == b->memory_bytes && a->cores_ppm == b->cores_ppm && a->pids == b->pids && a->memory_absent == b->memory_absent &&
           a->cores_absent == b->cores_absent && a->pids_absent == b->pids_absent && strcmp(a->memory_source, b->memory_source) == 0 &&
           strcmp(a->cores_source, b->cores_source) == 0 && strcmp(a->pids_source, b->pids_source) == 0;
}
