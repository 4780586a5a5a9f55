/* SPDX-License-Identifier: Apache-2.0 */
/*
 * /sys/class/block/NAME. A device counts if hardware is below it ("device") and no other block device ("slaves"): that leaves out dm, md, loop, zram, nbd,
 * drbd, bcache. With NVMe multipath the namespace is virtual and its hidden paths (nvme0c0n1) have the hardware: they count, since all I/O goes through
 * one of them, whereas the namespace itself has counters since 6.3 only.
 */
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "base/fd.h"
#include "sysfs/sysfs.h"

#define SECTOR 512u /* of "size", whatever the device's own is */

static bool below(void *label, const char *name, size_t len)
{
    struct sys_block *b = label;
    size_t at = strlen(b->label);
    snprintf(b->label + at, sizeof(b->label) - at, "%s%.*s", at && b->label[at - 1] != ' ' ? "," : "", (int)len, name);
    return true;
}

static void describe(int dir, struct sys_block *b)
{
    char name[48];
    ssize_t n = sys_text(dir, "dm/name", name, sizeof(name));
    if (n <= 0)
        n = sys_text(dir, "md/level", name, sizeof(name));
    if (n <= 0 && sys_text(dir, "loop/backing_file", b->label, sizeof(b->label)) > 0)
        return;
    snprintf(b->label, sizeof(b->label), n > 0 ? "%s over " : "over ", name);
    size_t before = strlen(b->label);
    sys_each(dir, "slaves", below, b);
    if (strlen(b->label) == before)
        snprintf(b->label, sizeof(b->label), "%s", n > 0 ? name : "");
}

/* False where the directory is no link: a captured tree may have it so. */
static bool is_virtual(int sys_fd, const char *path)
{
    char target[256];
    ssize_t n = readlinkat(sys_fd, path, target, sizeof(target));
    return n > 0 && memmem(target, (size_t)n, "/virtual/", 9);
}

static bool one(void *any, const char *name, size_t len)
{
    (void)name;
    (void)len;
    *(bool *)any = true;
    return false;
}

int sys_block_read(int sys_fd, const char *name, struct sys_block *ret)
{
    char path[96];
    bool slaves = false;
    if (snprintf(path, sizeof(path), "class/block/%s", name) >= (int)sizeof(path))
        return -ENAMETOOLONG;
    for (char *p = path + sizeof("class/block/") - 1; *p; p++)
        *p = *p == '/' ? '!' : *p; /* cciss/c0d0: in sysfs a '!' stands for it */
    int dir = openat(sys_fd, path, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    if (dir < 0)
        return -errno;
    *ret = (struct sys_block){.partition = sys_exists(dir, "partition")};
    if (sys_number(dir, "size", &ret->size) == 0 && __builtin_mul_overflow(ret->size, SECTOR, &ret->size))
        ret->size = 0;
    sys_number(dir, "diskseq", &ret->sequence);
    sys_each(dir, "slaves", one, &slaves);
    ret->counted = !ret->partition && sys_exists(dir, "device") && !slaves && !is_virtual(sys_fd, path);
    if (!ret->partition && !ret->counted)
        describe(dir, ret);
    else if (sys_text(dir, "device/model", ret->label, sizeof(ret->label)) <= 0 && sys_text(dir, "device/name", ret->label, sizeof(ret->label)) < 0)
        ret->label[0] = 0;
    close(dir);
    return 0;
}
