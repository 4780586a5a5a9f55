/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A socket filter in the kernel (eBPF) that passes only events of the job's processes. The connector and taskstats
 * report the whole machine, and reading one event of a foreign process costs the recorder more than a microsecond.
 *
 * The filter has one slot per pid, indexed by the pid's last 16 bits. Two pids may therefore share a slot (1234 and
 * 66770 = 1234 + 65536 do), and then events of a foreign process pass: callers must not rely on seeing members only. If
 * the slot of a forking parent is set, the filter passes the event and sets the child's slot before the child runs, so
 * descendants of a member are followed without gaps. At first it passes everything (exits_filter_hold_back(f, false)):
 * the caller has to add the existing members first.
 *
 * Works only where bpf(2) is allowed (root; not in most containers) and maps can be mapped into memory (Linux 5.5).
 */
#ifndef KERNEL_EVENTS_FILTER_H
#define KERNEL_EVENTS_FILTER_H

#include <stdbool.h>
#include <stdint.h>

#include "base/error.h"
#include "kernel/events/events.h"

struct exits_filter;

int exits_filter_open(struct exits_filter **ret, struct baro_error *err);
void exits_filter_close(struct exits_filter *f); /* NULL allowed; sockets that it is attached to keep the program */
/* Attaches the filter to a connector or taskstats source. Returns 0 or -errno. */
int exits_filter_attach(struct exits_filter *f, struct exits_source *s);

void exits_filter_add(struct exits_filter *f, int32_t pid);
bool exits_filter_has(const struct exits_filter *f, int32_t pid);
void exits_filter_clear(struct exits_filter *f); /* removes all pids */
/* foreign: true drops events of processes that were not added. */
void exits_filter_hold_back(struct exits_filter *f, bool foreign);
/* How many gaps the connector's sequence numbers had: the kernel had no memory to send some events. The filter must
 * count them, because the listener no longer sees all numbers. */
uint32_t exits_filter_gaps(const struct exits_filter *f);

#endif
