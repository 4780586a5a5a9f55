/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A filter in the kernel (eBPF on the sockets) that lets through what is of the job's processes alone. The connector
 * and taskstats tell of the whole machine, and hearing of one foreign fork costs the recorder more than a microsecond.
 *
 * It has a slot for each pid (by its last 16 bits, so a foreign one may share a member's, and passes: nobody may rely
 * on that nothing foreign comes). A fork whose parent's slot is set is let through and sets the child's before the
 * child runs, so what is below a member is followed without gap. It begins by letting all pass
 * (exits_filter_hold_back(f, false)), for the members must be known to it first.
 *
 * Only where bpf(2) is allowed (root; not in most containers) and maps can be shared (Linux 5.5).
 */
#ifndef EXITS_FILTER_H
#define EXITS_FILTER_H

#include <stdbool.h>
#include <stdint.h>

#include "base/error.h"
#include "exits/events.h"

struct exits_filter;

int exits_filter_open(struct exits_filter **ret, struct baro_error *err);
void exits_filter_close(struct exits_filter *f); /* NULL allowed; what it is attached to keeps it */
/* To the connector or taskstats. Returns 0 or -errno. */
int exits_filter_attach(struct exits_filter *f, struct exits_source *s);

void exits_filter_add(struct exits_filter *f, int32_t pid);
bool exits_filter_has(const struct exits_filter *f, int32_t pid);
void exits_filter_clear(struct exits_filter *f); /* all pids */
void exits_filter_hold_back(struct exits_filter *f, bool foreign);
/* How often the numbers of the connector's events had a gap: the kernel had no memory for some. The filter sees them
 * all, its listener no longer does. */
uint32_t exits_filter_gaps(const struct exits_filter *f);

#endif
