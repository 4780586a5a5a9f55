/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What the guest of tools/qemu-check.sh records, each made to suffer from one thing. Linked statically: the guest has
 * no interpreter.
 *
 *   burn SECONDS            computes
 *   hold MB SECONDS         touches MB of memory, as far as it gets in that time, then computes for half of what is
 * left of it write FILE MB           writes to a disk of whole megabytes, past the page cache, over and over if it is
 * smaller reread FILE SECONDS     reads all pages of a mapped file over and over, twice at least delegate FOLDER marks
 * a control group as delegated, as systemd does (busybox can't set an extended attribute)
 */
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/xattr.h>
#include <time.h>
#include <unistd.h>

#define MB ((size_t)1 << 20)
#define PAGE ((size_t)4096)

static double now(void)
{
    struct timespec t;

    clock_gettime(CLOCK_MONOTONIC, &t);
    return (double)t.tv_sec + (double)t.tv_nsec / 1e9;
}

static void burn(double until)
{
    while (now() < until)
        ;
}

static int hold(size_t mb, double seconds)
{
    double until = now() + seconds;
    char *held = mmap(NULL, mb * MB, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);

    if (held == MAP_FAILED || madvise(held, mb * MB, MADV_NOHUGEPAGE))
        return 1;
    for (size_t at = 0; at < mb * MB && (at % (16 * PAGE) || now() < until); at += PAGE)
        held[at] = 1;
    while (now() < until) {
        burn(now() + 0.05);
        usleep(50000);
    }
    return 0;
}

static int write_past_cache(const char *path, size_t mb)
{
    int fd = open(path, O_WRONLY | O_DIRECT);
    off_t size = fd < 0 ? -1 : lseek(fd, 0, SEEK_END);
    void *part;

    if (size < (off_t)MB || posix_memalign(&part, PAGE, MB))
        return 1;
    memset(part, 1, MB);
    for (size_t i = 0; i < mb; i++) {
        if (pwrite(fd, part, MB, (off_t)(i * MB) % size) != (ssize_t)MB)
            return 1;
    }
    return 0;
}

static int reread(const char *path, double seconds)
{
    int fd = open(path, O_RDONLY);
    off_t size = fd < 0 ? -1 : lseek(fd, 0, SEEK_END);
    double until = now() + seconds;
    const volatile char *file;

    if (size <= 0)
        return 1;
    file = mmap(NULL, (size_t)size, PROT_READ, MAP_SHARED, fd, 0);
    if (file == MAP_FAILED || madvise((void *)file, (size_t)size, MADV_RANDOM))
        return 1;
    for (int passes = 0; passes < 2 || now() < until; passes++) {
        for (off_t at = 0; at < size; at += (off_t)PAGE)
            (void)file[at];
    }
    return 0;
}

static double number(const char *text)
{
    return strtod(text, NULL);
}

int main(int n, char **word)
{
    if (n == 3 && strcmp(word[1], "burn") == 0)
        return burn(now() + number(word[2])), 0;
    if (n == 4 && strcmp(word[1], "hold") == 0)
        return hold((size_t)number(word[2]), number(word[3]));
    if (n == 4 && strcmp(word[1], "write") == 0)
        return write_past_cache(word[2], (size_t)number(word[3]));
    if (n == 4 && strcmp(word[1], "reread") == 0)
        return reread(word[2], number(word[3]));
    if (n == 3 && strcmp(word[1], "delegate") == 0)
        return setxattr(word[2], "user.delegate", "1", 1, 0) != 0;
    return 2;
}
