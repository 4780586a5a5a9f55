/* SPDX-License-Identifier: Apache-2.0 */
/* The file of marks that BARO_EVENTS names. Each recorder that reads it holds a lock on one of the bytes below,
 * which shows that it has a reader. */
#ifndef LIBBARO_MARK_LOCK_H
#define LIBBARO_MARK_LOCK_H

#include <fcntl.h>
#include <stdbool.h>
#include <stdio.h>

#define MARKS_LOCKED_AT ((off_t)1 << 62)
#define MARKS_LOCKS_MOST 64

static inline struct flock marks_lock_of(off_t from, off_t n)
{
    return (struct flock){.l_type = F_WRLCK, .l_whence = SEEK_SET, .l_start = MARKS_LOCKED_AT + from, .l_len = n};
}

static inline bool marks_lock_is_held(int fd)
{
    struct flock lock = marks_lock_of(0, MARKS_LOCKS_MOST);
    return fcntl(fd, F_OFD_GETLK, &lock) == 0 && lock.l_type == F_WRLCK;
}

/* mark.c: opens the file for appending, if a recorder reads it. Returns a descriptor; -ENOENT if BARO_EVENTS names no
 * file, -ESRCH if no recorder reads it, or -errno. Devices are not even opened, as opening may have an effect. */
int marks_events_open(void);

#endif
