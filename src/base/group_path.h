/* SPDX-License-Identifier: Apache-2.0 */
/* What the path of a control group says of it: the container, the pod and the unit of systemd that it is. */
#ifndef BASE_GROUP_PATH_H
#define BASE_GROUP_PATH_H

#include <stddef.h>

#define GROUP_PATH_ID 64u /* digits of a container's id */

struct group_path {
    const char *id, *before; /* the id, and the part of the path that has it: "docker-<id>.scope"; NULL: no container */
    char container[16];      /* the first 12 digits of the id; each of these "": none */
    char pod[40];            /* its uid */
    char unit[256];          /* the innermost service or scope that is no container */
};

/* id and before are borrowed from the path. */
void group_path_read(const char *path, struct group_path *ret);

#endif
