/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The program baro-gpu and what it has read last. One recording has it alone; the recordings of an observer share one:
 * each takes each reading, or what the newest one has, at its own ticks.
 */
#ifndef RECORDER_COLLECTORS_GPU_GPU_SOURCE_H
#define RECORDER_COLLECTORS_GPU_GPU_SOURCE_H

#include "recorder/collectors/gpu/gpus.h"
#include "recorder/sampling/sampling.h"

struct gpu_source;

/* A recording that takes its readings. */
struct gpu_user {
    struct gpu_user *next;
    struct sampling *sampling;
    struct gpu_tables tables;
    bool is_pending; /* the last reading is not in the tables yet */
};

/* Starts no process yet. root: where dev, sys and proc are. Returns NULL without memory. */
struct gpu_source *gpu_source_join(struct gpu_user *u, bool devices, bool meters, const char *root);
/* The process ends with its last user, and then the source may be freed. */
void gpu_source_leave(struct gpu_source *s, struct gpu_user *u);
void gpu_source_free(struct gpu_source *s); /* nothing is done while it has users; NULL allowed */
struct worker *gpu_source_worker(const struct gpu_source *s);
bool gpu_source_is_shared(const struct gpu_source *s);
/* To be called at each tick of a user: looks after the process. Returns whether there was trouble, which is told to all
 * users. */
bool gpu_source_turn(struct gpu_source *s);
void gpu_source_give_members(struct gpu_source *s);
bool gpu_source_is_new(const struct gpu_source *s);
/* Returns a reading that this user has not taken, borrowed until the next call; NULL: there is none. */
struct gpu_reading *gpu_source_take(struct gpu_source *s, struct gpu_user *u);
/* An event of this user's job; a gpu_say. */
void gpu_user_say(void *context, const char *line, uint64_t number);

#endif
