/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Directories whose size is recorded (--du). A worker (recorder/helper/worker.h) walks them, one after the other, so
 * that a million files or a file server that is gone delay nothing else.
 */
#ifndef RECORDER_COLLECTORS_DIRECTORIES_DIRECTORY_H
#define RECORDER_COLLECTORS_DIRECTORIES_DIRECTORY_H

#include <sys/types.h>

#include "base/buf.h"
#include "base/error.h"
#include "libbaro/sample/sample.h"

#define DIRECTORIES_MOST 256u

struct directories_options {
    uint64_t every_ns;     /* from the begin of one walk to that of the next; 0: DIRECTORIES_EVERY, or longer */
    uint64_t overhead_ppm; /* without every_ns: walks take at most this share of a core, millionths; 0: any */
    uint64_t start_monotonic_ns;
    uint32_t *entity_ids; /* the last id given to an entity of this recording; borrowed */
};
#define DIRECTORIES_EVERY 60000000000ull

struct directories;

int directories_new(struct directories **ret, const struct directories_options *options, struct baro_error *err);
/* path: absolute; copied. Returns 0, or a negative code; -EEXIST: it is there already. */
int directories_add(struct directories *d, const char *path, struct baro_entity_owner owner, struct baro_error *err);

/* Takes the readings so far, and watches the worker. say is called with a line for each problem. */
void directories_tick(struct directories *d, uint64_t now_ns, void (*say)(void *context, const char *line),
                      void *context);
/* One last walk of all directories, within a short time. directories_tick() follows. */
void directories_last(struct directories *d);
struct baro_entities directories_view(const struct directories *d);
size_t directories_count(const struct directories *d);
/* Writes why directory i has no value: "disk of DIR: ...". Returns false if it has one. */
bool directories_trouble(const struct directories *d, size_t i, struct buf *line);

struct worker;
struct worker *directories_worker(struct directories *d);
void directories_free(struct directories *d); /* NULL allowed */

#endif
