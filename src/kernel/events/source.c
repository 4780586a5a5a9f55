/* SPDX-License-Identifier: Apache-2.0 */
/* The interface of all sources: calls through the table of each. */
#include "base/fd.h"
#include "kernel/events/source.h"

enum exits_source_kind exits_kind(const struct exits_source *s)
{
    return s->kind;
}

const char *exits_name(const struct exits_source *s)
{
    switch (s->kind) {
    case EXITS_CONNECTOR: return "connector";
    case EXITS_PERF: return "perf";
    case EXITS_TASKSTATS: return "taskstats";
    }
    return "";
}

int exits_fd(const struct exits_source *s)
{
    return s->fd;
}

uint64_t exits_capacity(const struct exits_source *s)
{
    return s->capacity(s);
}

int exits_drain(struct exits_source *s, exits_event_fn *fn, void *context)
{
    return s->drain(s, fn, context);
}

void exits_close(struct exits_source *s)
{
    if (!s)
        return;
    int fd = s->fd;
    s->close(s);
    fd_close(fd);
}
