/* SPDX-License-Identifier: Apache-2.0 */
/*
 * /sys/class/block/NAME. A device counts if it has hardware below it ("device") and no other block device ("slaves").
 * That excludes dm, md, loop, zram, nbd, drbd and bcache. With NVMe multipath the namespace is virtual, and its hidden
 * paths (nvme0c0n1) have the hardware: the paths count. All I/O goes through one of them, and the namespace itself has
 * counters only since 6.3.
 */
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "kernel/sys/sysfs.h"

#define SECTOR 512u /* the unit of "size", whatever the sectors of the device */

#define BELOW_MOST 16
struct below {
    char name[BELOW_MOST][32];
    size_t n;
};

/* Sorted by name, because a directory has no meaningful order. */
static bool below(void *context, const char *name, size_t len)
{
    struct below *b = context;
    char word[sizeof(b->name[0])];
    size_t at = b->n;
    snprintf(word, sizeof(word), "%.*s", (int)len, name);
    while (at && strcmp(b->name[at - 1], word) > 0)
        at--;
    memmove(b->name[at + 1], b->name[at], (b->n - at) * sizeof(word));
    memcpy(b->name[at], word, sizeof(word));
    return ++b->n < BELOW_MOST - 1;
}

static void list_below(int dir, struct sys_block *b)
{
    struct below all = {.n = 0};
    size_t at = strlen(b->label);
    sys_each(dir, "slaves", below, &all);
    for (size_t i = 0; i < all.n && at < sizeof(b->label); i++)
        at += (size_t)snprintf(b->label + at, sizeof(b->label) - at, "%s%s", i ? "," : "", all.name[i]);
}

static void describe_device(int dir, struct sys_block *b)
{
    char name[48];
    ssize_t n = sys_text(dir, "dm/name", name, sizeof(name));
    if (n <= 0)
        n = sys_text(dir, "md/level", name, sizeof(name));
    if (n <= 0 && sys_text(dir, "loop/backing_file", b->label, sizeof(b->label)) > 0)
        return;
    snprintf(b->label, sizeof(b->label), n > 0 ? "%s over " : "over ", name);
    size_t before = strlen(b->label);
    list_below(dir, b);
    if (strlen(b->label) == before)
        snprintf(b->label, sizeof(b->label), "%s", n > 0 ? name : "");
}

/* False if the directory is not a link, as may be in a captured tree. */
static bool is_virtual(int sys_fd, const char *path)
{
    char target[256];
    ssize_t n = readlinkat(sys_fd, path, target, sizeof(target));
    return n > 0 && memmem(target, (size_t)n, "/virtual/", 9);
}

static bool collect_name(void *any, const char *name, size_t len)
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
        *p = *p == '/' ? '!' : *p; /* cciss/c0d0: sysfs has '!' instead of '/' */
    int dir = openat(sys_fd, path, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    if (dir < 0)
        return -errno;
    *ret = (struct sys_block){.partition = sys_exists(dir, "partition")};
    if (sys_number(dir, "size", &ret->size) == 0 && __builtin_mul_overflow(ret->size, SECTOR, &ret->size))
        ret->size = 0;
    sys_number(dir, "diskseq", &ret->sequence);
    sys_each(dir, "slaves", collect_name, &slaves);
    ret->counted = !ret->partition && sys_exists(dir, "device") && !slaves && !is_virtual(sys_fd, path);
    if (!ret->partition && !ret->counted)
        describe_device(dir, ret);
    else if (sys_text(dir, "device/model", ret->label, sizeof(ret->label)) <= 0 &&
             sys_text(dir, "device/name", ret->label, sizeof(ret->label)) < 0)
        ret->label[0] = 0;
    close(dir);
    return 0;
}
