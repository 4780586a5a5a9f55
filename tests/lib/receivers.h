/* SPDX-License-Identifier: Apache-2.0 */
/* Functions that receive a story: a summary, or a tape. */
#ifndef TESTS_RECEIVERS_H
#define TESTS_RECEIVERS_H

#include "libbaro/summary/summary.h"
#include "story.h"
#include "tape_file.h"

static inline void to_summary_sample(void *s, const struct baro_sample *v)
{
    summary_add_sample(s, v);
}

static inline void to_summary_exit(void *s, const struct baro_exit *v)
{
    summary_add_exit(s, v);
}

static inline void to_summary_event(void *s, const struct baro_event *v)
{
    summary_add_event(s, v);
}

static inline void to_tape_sample(void *w, const struct baro_sample *v)
{
    tape_add(w, v);
}

static inline void to_tape_exit(void *w, const struct baro_exit *v)
{
    tape_writer_exit(w, v);
}

static inline void to_tape_event(void *w, const struct baro_event *v)
{
    tape_writer_event(w, v);
}

/* What story.h tells, live: the same as of its tape (test_summary.c). */
static inline struct baro_summary *summary_of_story(void)
{
    struct baro_header h;
    struct story story;
    story_header(&h);
    static struct baro_summary *s; /* the last one; freed with the next one */
    summary_free(s);
    s = summary_new(&h);
    assert_non_null(s);
    story_play(&story, &(struct story_sink){to_summary_sample, to_summary_exit, to_summary_event, s});
    summary_finish(s);
    return s;
}

#endif
