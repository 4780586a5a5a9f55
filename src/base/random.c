/* SPDX-License-Identifier: Apache-2.0 */
#include "base/random.h"

#include <stdint.h>
#include <sys/random.h>

#include "base/clock.h"

void random_fill(void *ret, size_t len)
{
    if (getrandom(ret, len, GRND_NONBLOCK) == (ssize_t)len)
        return;
    uint64_t word = clock_monotonic_ns() * 0x9e3779b97f4a7c15ull ^ (uint64_t)clock_realtime_ns() ^ (uintptr_t)ret;
    unsigned char *at = ret;
    for (size_t i = 0; i < len; i++) {
        word = word * 6364136223846793005ull + 1442695040888963407ull;
        at[i] = (unsigned char)(word >> 56);
    }
}
