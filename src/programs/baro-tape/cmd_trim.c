/* SPDX-License-Identifier: Apache-2.0 */
#include <string.h>

#include "base/error.h"
#include "base/span.h"
#include "programs/baro-tape/copying.h"
#include "programs/common/settings.h"
#include "programs/common/stretch.h"
#include "programs/common/tape_args.h"

/* The stretch of a tape that baro trim copies: that of two times is in programs/common/stretch.c. */

/* ret_phases: how many phases have that name. */
static int by_phase(struct stretch *ret, const struct baro_timeline *timeline, const char *name, size_t *ret_phases,
                    struct baro_error *err)
{
    for (size_t i = 0; i < baro_timeline_count(timeline); i++) {
        const struct baro_timeline_item *item = baro_timeline_get(timeline, i);
        if (item->kind != BARO_TIMELINE_PHASE || strcmp(item->name, name) != 0 || (*ret_phases)++)
            continue;
        ret->from_ns = item->begin_ns;
        ret->to_ns = item->is_open ? UINT64_MAX : item->end_ns;
    }
    return *ret_phases ? 0
                       : error_set(err, BARO_E_RANGE, "the tape has no phase '%s'; `baro summary` lists them", name);
}

/* "100:200", "100:", ":200"; from 1 on, both included. */
static bool parse_samples(const char *text, uint64_t *ret_first, uint64_t *ret_last)
{
    struct span s = span_str(text);
    *ret_first = 1;
    *ret_last = UINT64_MAX;
    if (s.len && *s.at != ':' && !scan_u64(&s, ret_first))
        return false;
    if (!s.len || *s.at != ':')
        return false;
    s = span_of(s.at + 1, s.len - 1);
    if (s.len && !scan_u64(&s, ret_last))
        return false;
    return s.len == 0 && *ret_first > 0 && *ret_first <= *ret_last;
}

static int by_samples(struct stretch *ret, struct baro_tape *tape, const char *text, struct baro_error *err)
{
    uint64_t first, last, n = 0;
    struct baro_record record;
    if (!parse_samples(text, &first, &last))
        return error_set(err, BARO_E_SYNTAX, "invalid samples '%s': write 100:200, from 1 on", text);
    int code = baro_tape_rewind(tape, err);
    while (code >= 0 && n < last && (code = baro_tape_next(tape, &record, err)) > 0) {
        if (record.kind != BARO_RECORD_SAMPLE)
            continue;
        n++;
        if (n == first && first > 1)
            ret->from_ns = record.t_ns;
        if (n == last)
            ret->to_ns = record.t_ns;
    }
    if (code < 0)
        return code;
    return n >= first ? 0 : error_set(err, BARO_E_RANGE, "the tape has %llu samples", (unsigned long long)n);
}

/* Reads the options. timeline: of the tape. Returns 0 or a negative code. The cursor is moved. */
static int find_stretch(struct stretch *ret, struct baro_tape *tape, const struct baro_timeline *timeline,
                        const struct settings *s, size_t *ret_phases, struct baro_error *err)
{
    *ret = (struct stretch){.to_ns = UINT64_MAX};
    int code = s->phase     ? by_phase(ret, timeline, s->phase, ret_phases, err)
               : s->samples ? by_samples(ret, tape, s->samples, err)
                            : stretch_find(ret, tape, s->from, s->to, err);
    return code < 0 || !(s->phase || s->samples) ? code : stretch_edges(ret, tape, err);
}

/* Returns a negative code or 0. */
static int write_stretch(const struct cli *cli, const struct settings *s, const struct stretch *stretch,
                         struct baro_tape *tape, const struct baro_timeline *timeline, struct baro_error *err)
{
    struct baro_writer_options options = stretch_options(stretch);
    struct baro_writer *w;
    size_t samples = 0;
    options.force = s->force;
    int code = baro_writer_new(&w, s->output, tape, &options, err);
    if (code < 0)
        return code;
    code = stretch_copy(stretch, tape, timeline, w, &samples, err);
    if (code >= 0)
        copying_notes(cli, tape, w);
    if (code >= 0 && samples == 0)
        cli_note(cli, "the stretch has no sample");
    baro_writer_free(w);
    return code < 0 ? code : 0;
}

static int trim(const struct cli *cli, const struct settings *s, struct baro_tape *tape)
{
    struct baro_error err = BARO_ERROR_INIT;
    struct baro_fold *fold;
    struct stretch stretch;
    size_t phases = 0;
    if (baro_fold_of_tape(tape, BARO_FOLD_TIMELINE, &fold, &err) < 0)
        return cli_fail(cli, &err);
    const struct baro_timeline *timeline = baro_fold_timeline(fold);
    int status = find_stretch(&stretch, tape, timeline, s, &phases, &err) < 0 ? cli_fail(cli, &err) : 0;
    if (!status && phases > 1)
        cli_note(cli, "there are %zu phases '%s'; this is the first", phases, s->phase);
    if (!status && write_stretch(cli, s, &stretch, tape, timeline, &err) < 0)
        status = cli_fail(cli, &err);
    baro_fold_free(fold);
    return status;
}

int cmd_trim(struct cli *cli, const struct settings *s, char **argv)
{
    struct baro_tape *tape;
    struct reader_path path;
    bool by_time = s->from || s->to;
    if (!s->output)
        return cli_failf(cli, "-o FILE is missing");
    if (by_time + !!s->phase + !!s->samples != 1)
        return cli_failf(cli, "which stretch? Give --from and --to, or --phase, or --samples");
    int status = reader_open_whole(cli, argv[0], &tape, &path);
    if (status)
        return status;
    status = trim(cli, s, tape);
    baro_tape_close(tape);
    return status;
}
