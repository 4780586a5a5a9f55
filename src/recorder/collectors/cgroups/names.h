/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What people call a control group: container, image, pod, or unit of systemd. The group's path has the id of the
 * container; the engine that made it keeps the rest in files. No engine is asked: that takes a socket with which one
 * could do anything.
 */
#ifndef RECORDER_COLLECTORS_CGROUPS_NAMES_H
#define RECORDER_COLLECTORS_CGROUPS_NAMES_H

#include <stdbool.h>
#include <stddef.h>

#include "libbaro/sample/sample.h"

/* root_fd: directory descriptor of "/". files: read what engines keep; false: the path alone. Fields that are not known
 * become "". The container is the first 12 digits of its id where its name is not known, the pod its uid. */
void group_names_read(int root_fd, const char *path, bool files, struct header_place *ret);
/* For titles: "pod/container", "container" or the unit; "": none of them is known. */
void group_title(const struct header_place *p, char *ret, size_t cap);

/* Returns the text of a regular file, or NULL. The folders belong to who wrote it; the last name must be no link. */
char *group_state_read(int root_fd, const char *path, size_t *ret_len);

#endif
