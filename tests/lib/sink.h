/* SPDX-License-Identifier: Apache-2.0 */
/* A job_sink that drops all records. Include after recorder/job/job.h. */
#ifndef TESTS_SINK_H
#define TESTS_SINK_H

static inline void sink_drop_exit(void *context, const struct baro_exit *e)
{
    (void)context;
    (void)e;
}

static inline void sink_drop_event(void *context, const struct baro_event *e)
{
    (void)context;
    (void)e;
}

static const struct job_sink sink_drops = {sink_drop_exit, sink_drop_event, NULL};

#endif
