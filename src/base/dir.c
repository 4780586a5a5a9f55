/* SPDX-License-Identifier: Apache-2.0 */
#include "base/dir.h"

#include <errno.h>
#include <stdint.h>
#include <string.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "base/fd.h"

/* getdents64(2) into a buffer on the stack, because opendir(3) would allocate 32 kB each time. The layout is struct
 * linux_dirent64. */
enum { DIRENT_RECLEN = 16, DIRENT_NAME = 19, DIRENT_BYTES = 4096 };

typedef bool entry_fn(void *context, const char *name, size_t len);

/* Returns 1 if fn stopped it, else 0 or -errno. */
static int block_each(const char *at, size_t size, entry_fn *fn, void *context)
{
    for (size_t i = 0; i + DIRENT_NAME < size;) {
        uint16_t step;
        memcpy(&step, at + i + DIRENT_RECLEN, sizeof(step));
        if (step <= DIRENT_NAME || step > size - i)
            return -EIO;
        const char *name = at + i + DIRENT_NAME;
        if (!fn(context, name, strnlen(name, step - (size_t)DIRENT_NAME)))
            return 1;
        i += step;
    }
    return 0;
}

int dir_each(int fd, entry_fn *fn, void *context)
{
    char block[DIRENT_BYTES] __attribute__((aligned(8)));
    unsigned tries = 0;
    for (;;) {
        long n = syscall(SYS_getdents64, fd, block, sizeof(block));
        if (n < 0 && fd_again(&tries))
            continue;
        if (n <= 0)
            return n < 0 ? -errno : 0;
        int r = block_each(block, (size_t)n, fn, context);
        if (r)
            return r < 0 ? r : 0;
    }
}
