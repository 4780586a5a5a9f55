/* SPDX-License-Identifier: Apache-2.0 */
/* What namespaces make of /proc and of clocks. */
#ifndef BASE_NAMESPACE_H
#define BASE_NAMESPACE_H

#include <stdbool.h>
#include <stdint.h>

#include "base/span.h"

/* Is this /proc that of the caller's own PID namespace? In another one's the same numbers are other processes: after
 * `unshare -p -f` without a /proc of its own pid 2 is there the command's child, and in /proc a thread of the kernel.
 * proc_fd: a directory descriptor of it. */
bool namespace_proc_is_own(int proc_fd);

/* Pure. /proc/PID/timens_offsets, lines of "monotonic  SECONDS NANOSECONDS": what is added to the machine's
 * CLOCK_MONOTONIC. Returns 0, or BARO_E_SYNTAX. */
int namespace_offset_parse(struct span text, int64_t *ret_ns);
/* What the caller's time namespace adds. Times that the kernel takes on its own (of the process connector, of perf) are
 * without it. 0 where there is none. */
int64_t namespace_monotonic_offset_ns(void);

#endif
