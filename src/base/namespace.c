/* SPDX-License-Identifier: Apache-2.0 */
#include "base/namespace.h"

#include <fcntl.h>
#include <unistd.h>

#include "base/clock.h"
#include "base/error.h"
#include "base/fd.h"

#define SECONDS_MOST 9000000000 /* in nanoseconds it fits; the kernel allows less (KTIME_SEC_MAX / 2) */

/* /proc/self leads to the caller's pid in the PID namespace of that /proc. If the caller has no pid there, the link
 * cannot be read. */
bool namespace_proc_is_own(int proc_fd)
{
    char text[16];
    int64_t pid;
    ssize_t n = readlinkat(proc_fd, "self", text, sizeof(text));
    struct span s = span_of(text, n > 0 ? (size_t)n : 0);
    return scan_i64(&s, &pid) && s.len == 0 && pid == getpid();
}

int namespace_offset_parse(struct span text, int64_t *ret_ns)
{
    struct span line, word;
    while (scan_line(&text, &line)) {
        int64_t seconds, ns;
        if (!scan_word(&line, &word) || !span_equal(word, "monotonic"))
            continue;
        scan_blanks(&line);
        if (!scan_i64(&line, &seconds) || seconds > SECONDS_MOST || seconds < -SECONDS_MOST)
            return BARO_E_SYNTAX;
        scan_blanks(&line);
        if (!scan_i64(&line, &ns) || ns < 0 || ns >= (int64_t)NS_PER_SEC || line.len)
            return BARO_E_SYNTAX;
        *ret_ns = seconds * (int64_t)NS_PER_SEC + ns;
        return 0;
    }
    return BARO_E_SYNTAX;
}

int64_t namespace_monotonic_offset_ns(void)
{
    char text[256];
    int64_t offset = 0;
    ssize_t n = fd_read_file(AT_FDCWD, "/proc/self/timens_offsets", text, sizeof(text));
    if (n > 0)
        namespace_offset_parse(span_of(text, (size_t)n), &offset);
    return offset;
}
