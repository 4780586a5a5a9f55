/* SPDX-License-Identifier: Apache-2.0 */
#include "recorder/collectors/directories/directory_row.h"

#include "recorder/helper/worker.h"

#define PERIOD_LEAST (100 * NS_PER_MS) /* results are taken at most this often */

void directory_row_init(struct directory_row *r, struct sampling *sampling)
{
    *r = (struct directory_row){.sampling = sampling};
}

int directory_row_add(struct directory_row *r, const char *path, uint64_t every_ns, struct baro_entity_owner owner,
                      struct baro_error *err)
{
    struct sampling *g = r->sampling;
    const struct directories_options options = {
        .every_ns = every_ns,
        .overhead_ppm = g->options.overhead_ppm,
        .start_monotonic_ns = g->options.start_monotonic_ns,
        .entity_ids = &g->entity_ids,
    };
    int code = r->directories ? 0 : directories_new(&r->directories, &options, err);
    return code < 0 ? code : directories_add(r->directories, path, owner, err);
}

/* ---- the row ---- */

static void note_trouble(void *context, const char *line)
{
    struct directory_row *r = context;
    job_event(r->sampling->job, r->sampling->now_ns, BARO_EVENT_WARNING, NULL, 0, line);
}

/* A short job has only the last walk. */
static bool tick_directories(void *state, const struct collector_tick *t)
{
    struct directory_row *r = state;
    if (!r->directories)
        return false;
    if (t->last)
        directories_last(r->directories);
    if (t->last || t->now_ns >= SAMPLING_HELPER_AFTER)
        directories_tick(r->directories, t->now_ns, note_trouble, r);
    t->sample->entities[KIND_directory] = directories_view(r->directories);
    return true;
}

static struct worker *worker_of_directories(const void *state)
{
    const struct directory_row *r = state;
    return r->directories ? directories_worker(r->directories) : NULL;
}

static void trouble(void *state, collector_say *tell, void *context)
{
    struct directory_row *r = state;
    struct buf line = {0};
    for (size_t i = 0; r->directories && i < directories_count(r->directories); i++, buf_clear(&line)) {
        if (!directories_trouble(r->directories, i, &line))
            continue;
        buf_byte(&line, 0);
        if (!line.failed)
            tell(context, (const char *)line.at);
    }
    buf_done(&line);
}

static void close_directories(void *state)
{
    struct directory_row *r = state;
    directories_free(r->directories);
    r->directories = NULL;
}

const struct collector directory_collector = {
    .name = "directories",
    .kinds = COLLECTOR_KIND(KIND_directory),
    .period_ns = PERIOD_LEAST,
    .tick = tick_directories,
    .worker = worker_of_directories,
    .is_unbudgeted = true, /* the walk has a share of its own, and no sample is left out because of it */
    .trouble = trouble,
    .close = close_directories,
};
