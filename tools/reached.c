/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What a program with -fsanitize-coverage=trace-pc-guard,pc-table calls (clang's SanitizerCoverage): it notes which
 * places of the code were reached in the file $REACHED/PROGRAM.PLACES.hit, a byte for each place. All processes of a
 * program map the same file, so that nothing is lost if one is killed. $REACHED/../addresses/PROGRAM.PLACES has the
 * address of each place, for a symbolizer. tools/reached.py reads both.
 */
#include <fcntl.h>
#include <limits.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

extern const char __ehdr_start __attribute__((visibility("hidden"))); /* where this program or library is loaded */

static uint32_t places;
static uint8_t *hits;

static int open_file(const char *folder, const char *suffix, int flags)
{
    char path[PATH_MAX], program[PATH_MAX];
    const char *reached = getenv("REACHED");
    ssize_t n = readlink("/proc/self/exe", program, sizeof(program) - 1);
    if (!reached || n <= 0)
        return -1;
    program[n] = 0;
    snprintf(path, sizeof(path), "%s%s/%s.%u%s", reached, folder, strrchr(program, '/') + 1, places, suffix);
    return open(path, flags | O_CREAT | O_CLOEXEC, 0666);
}

void __sanitizer_cov_trace_pc_guard_init(uint32_t *at, const uint32_t *end)
{
    if (at == end || *at) /* each object file calls this */
        return;
    while (at < end)
        *at++ = places++;
}

void __sanitizer_cov_pcs_init(const uintptr_t *at, const uintptr_t *end)
{
    if (hits)
        return;
    int fd = open_file("", ".hit", O_RDWR);
    if (fd < 0)
        return;
    fchmod(fd, 0666); /* processes of other users write it, too */
    void *map = ftruncate(fd, places) == 0 ? mmap(NULL, places, PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0) : MAP_FAILED;
    hits = map == MAP_FAILED ? NULL : map;
    close(fd);
    fd = open_file("/../addresses", "", O_WRONLY | O_EXCL);
    for (; fd >= 0 && at < end; at += 2)
        dprintf(fd, "0x%zx\n", (size_t)(*at - (uintptr_t)&__ehdr_start));
    if (fd >= 0)
        close(fd);
}

void __sanitizer_cov_trace_pc_guard(const uint32_t *place)
{
    if (hits)
        hits[*place] = 1;
}
