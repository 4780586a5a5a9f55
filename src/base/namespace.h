/* SPDX-License-Identifier: Apache-2.0 */
/* Effects of namespaces on /proc and on clocks. */
#ifndef BASE_NAMESPACE_H
#define BASE_NAMESPACE_H

#include <stdbool.h>
#include <stdint.h>

#include "base/span.h"

/* Does this /proc belong to the caller's own PID namespace? If not, its numbers are other processes: after `unshare -p
 * -f` without a new /proc, pid 2 is a child of the command, but /proc/2 is a kernel thread. proc_fd: a directory
 * descriptor of /proc. */
bool namespace_proc_is_own(int proc_fd);

/* Pure. /proc/PID/timens_offsets, lines of "monotonic  SECONDS NANOSECONDS": what is added to the machine's
 * CLOCK_MONOTONIC. Returns 0, or BARO_E_SYNTAX. */
int namespace_offset_parse(struct span text, int64_t *ret_ns);
/* The offset of the caller's time namespace, or 0. Times in the kernel's own records (process connector, perf) do not
 * include it. */
int64_t namespace_monotonic_offset_ns(void);

#endif
