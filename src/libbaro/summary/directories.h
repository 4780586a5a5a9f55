/* SPDX-License-Identifier: Apache-2.0 */
/* Directories whose size was recorded (--du), as the last sample has them. */
#ifndef LIBBARO_SUMMARY_DIRECTORIES_H
#define LIBBARO_SUMMARY_DIRECTORIES_H

#include <stdbool.h>

#include "libbaro/sample/sample.h"

struct directories_last {
    struct directory_last {
        uint32_t id;
        uint32_t task; /* id of the task that the directory belongs to; 0: none */
        char *path;
        uint64_t value[DIRECTORY_MAX];
        uint8_t absent[DIRECTORY_MAX];
    } * at;
    size_t n;
};

/* Returns false without memory. Allocates nothing for a directory that is known. */
bool directories_last_add(struct directories_last *d, const struct baro_sample *s);
void directories_last_done(struct directories_last *d);

#endif
