/* SPDX-License-Identifier: Apache-2.0 */
/* Shared by the sources of this folder; private to it. */
#ifndef KERNEL_EVENTS_SOURCE_H
#define KERNEL_EVENTS_SOURCE_H

#include "kernel/events/events.h"

/* The first member of every source. */
struct exits_source {
    enum exits_source_kind kind;
    int fd; /* pollable; owned */
    int (*drain)(struct exits_source *s, exits_event_fn *fn, void *context);
    uint64_t (*capacity)(const struct exits_source *s);
    void (*close)(struct exits_source *s); /* frees s and all but fd */
    int64_t clock_offset_ns;               /* added to the kernel's times to get those of the caller's time namespace */
    bool filtered;                         /* a filter is attached: sequence numbers have gaps */
};

#endif
