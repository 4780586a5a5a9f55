/* SPDX-License-Identifier: Apache-2.0 */

#include "base/json.h"
#include "output/ranks/ranks.h"

static void put_end(struct json *j, const struct ranks *r, const char *key, double v, size_t rank)
{
    json_key_begin(j, key, '{');
    json_key_double(j, "value", v);
    json_key_u64(j, "rank", r->at[rank].number);
    json_end(j, '}');
}

static void put_row(struct json *j, const struct ranks *r, size_t row)
{
    const struct baro_runset_row *is = baro_runset_row(r->set, row);
    struct baro_spread s = {.size = sizeof(s)};
    if (ranks_spread(r, row, &s) < 0 || !s.n)
        return;
    json_begin(j, '{');
    json_key_text(j, "scope", is->scope);
    json_key_text(j, "name", *is->name ? is->name : NULL);
    json_key_text(j, "fact", is->fact->name);
    json_key_u64(j, "ranks", s.n);
    json_key(j, "all");
    json_double_or_null(j, !s.all.absent, s.all.real);
    json_key_text(j, "mark", s.all.absent ? NULL : baro_value_mark(s.all.flags));
    put_end(j, r, "least", s.least, s.least_run);
    json_key_double(j, "median", s.median);
    json_key_double(j, "mean", s.mean);
    put_end(j, r, "most", s.most, s.most_run);
    json_key_double(j, "cost", (s.most - s.mean) * (double)s.n);
    json_end(j, '}');
}

static void put_node(struct json *j, const struct rank_node *at)
{
    json_begin(j, '{');
    json_key_text(j, "node", at->name);
    json_key_u64(j, "ranks", at->ranks);
    json_key_double(j, "cpu_ns", at->cpu_ns);
    json_key_double(j, "cores_allowed", at->cores_allowed);
    json_key_double(j, "others_cores", at->others_cores);
    json_key_double(j, "memory_most_bytes", at->memory_most);
    json_key_double(j, "memory_needed_bytes", at->needed);
    json_key_double(j, "memory_allowed_bytes", at->memory_allowed);
    json_key_text(j, "memory_allowed_source", at->source);
    json_key_bool(j, "memory_is_allowed_together", at->is_shared);
    json_end(j, '}');
}

static void put_rank(struct json *j, const struct ranks *r, size_t i)
{
    const struct rank *at = &r->at[i];
    json_begin(j, '{');
    json_key_u64(j, "rank", at->number);
    json_key_text(j, "node", rank_node(r, i));
    json_key_text(j, "tape", at->tape);
    json_key(j, "wait_status");
    json_u64_or_null(j, at->status >= 0, (uint64_t)at->status);
    json_key_i64(j, "start_realtime_ns", at->start_ns);
    json_key(j, "wall_ns");
    json_u64_or_null(j, at->wall_ns, at->wall_ns); /* 0: it has no sample, so it is not known */
    json_key_double(j, "cpu_ns", at->cpu_ns);
    json_end(j, '}');
}

static void put_slowest(struct json *j, const struct ranks *r)
{
    static const char *const by[] = {[SLOWEST_PHASE] = "phase", [SLOWEST_CPU] = "cpu", [SLOWEST_WAIT] = "run_delay"};
    const struct rank_slowest *s = &r->slowest;
    json_key(j, "slowest");
    if (!s->by) {
        json_null(j);
        return;
    }
    json_begin(j, '{');
    json_key_u64(j, "rank", r->at[s->rank].number);
    json_key_text(j, "node", rank_node(r, s->rank));
    json_key_text(j, "by", by[s->by]);
    json_key_text(j, "phase", s->phase);
    json_key_double(j, "took_ns", s->took);
    json_key_double(j, "mean_ns", s->mean);
    json_key_double(j, "cost_ns", s->cost);
    json_end(j, '}');
}

/* Writes the numbers of the missing ranks. A tape may say that there are four billion. */
static void put_missing(struct json *j, const struct ranks *r)
{
    struct buf names = {0};
    json_key_u64(j, "missing", ranks_missing(r, &names));
    json_key(j, "missing_ranks");
    json_text_n(j, names.len ? (const char *)names.at : "", names.len);
    buf_done(&names);
}

void ranks_json(const struct ranks *r, struct buf *ret)
{
    struct json j = {.out = ret, .pretty = true};
    json_begin(&j, '{');
    json_key_text(&j, "job_id", *r->job ? r->job : NULL);
    json_key_text(&j, "step_id", *r->step ? r->step : NULL);
    json_key_text(&j, "title", r->title);
    json_key_u64(&j, "ranks", r->count);
    put_missing(&j, r);
    json_key_i64(&j, "start_realtime_ns", r->start_ns);
    json_key_u64(&j, "wall_ns", ranks_wall_ns(r));
    json_key_double(&j, "cores_most", r->cores_most);
    json_key_double(&j, "memory_most_bytes", r->memory_most);
    put_slowest(&j, r);
    json_key_begin(&j, "facts", '[');
    for (size_t i = 0; i < baro_runset_rows(r->set); i++)
        put_row(&j, r, i);
    json_end(&j, ']');
    json_key_begin(&j, "nodes", '[');
    for (size_t i = 0; i < r->n_nodes; i++)
        put_node(&j, &r->node[i]);
    json_end(&j, ']');
    json_key_begin(&j, "each", '[');
    for (size_t i = 0; i < r->n; i++)
        put_rank(&j, r, i);
    json_end(&j, ']');
    json_end(&j, '}');
    buf_byte(ret, '\n');
}
