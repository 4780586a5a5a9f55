/* SPDX-License-Identifier: Apache-2.0 */
/* Which devices count in the I/O files of control groups: each byte once. */
#ifndef RECORDER_COLLECTORS_CGROUPS_IO_DEVICES_H
#define RECORDER_COLLECTORS_CGROUPS_IO_DEVICES_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct io_devices {
    int root_fd; /* directory descriptor of "/"; borrowed */
    /* those that have been in I/O files so far */
    struct io_device {
        uint32_t major, minor;
        bool counts;
    } * at;
    size_t n, cap, next;
};

/* For cgroup_device_fn; context: a struct io_devices. */
bool io_devices_count(void *context, uint32_t major, uint32_t minor);
void io_devices_done(struct io_devices *g);

#endif
