/* SPDX-License-Identifier: Apache-2.0 */
#include "programs/common/tape_head.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>

#include "base/error.h"
#include "output/text/summary_text.h"

#define LINE_MOST 4096u
#define TARGET_SAMPLES 32u /* samples that are searched for the command line of a target */

static const struct baro_row *find_pid(const struct baro_sample *s, int32_t pid)
{
    for (size_t i = 0; i < baro_sample_rows(s, BARO_KIND_PROCESS); i++) {
        if (baro_row_pid(baro_sample_row(s, BARO_KIND_PROCESS, i)) == pid)
            return baro_sample_row(s, BARO_KIND_PROCESS, i);
    }
    return NULL;
}

/* Returns, for an attached recording, the command of its first target, as the first samples have it; the command line
 * comes a little later than the name. */
static void put_target(struct baro_tape *tape, struct buf *ret)
{
    struct baro_record record;
    const struct baro_header *h = baro_tape_header(tape);
    unsigned samples = 0;
    if (baro_header_argv(h)[0] || !baro_header_target_count(h) || baro_tape_rewind(tape, NULL) < 0)
        return;
    while (samples < TARGET_SAMPLES && baro_tape_next(tape, &record, NULL) > 0) {
        const struct baro_row *p =
            record.kind == BARO_RECORD_SAMPLE ? find_pid(record.u.sample, baro_header_target(h, 0)) : NULL;
        const char *line = "";
        samples += record.kind == BARO_RECORD_SAMPLE;
        if (!p)
            continue;
        baro_row_cmdline(p, &line);
        buf_clear(ret);
        buf_str(ret, *line ? line : baro_row_name(p));
        if (*line)
            return;
    }
}

static void put_line(struct baro_tape *tape, struct buf *ret)
{
    const struct baro_header *h = baro_tape_header(tape);
    struct buf line = {0}, target = {0};
    report_name(h, &line);
    put_target(tape, &target);
    buf_str(&line, line.len && target.len ? ": " : "");
    buf_add(&line, target.at, target.len);
    buf_add(ret, line.at, line.len < LINE_MOST ? line.len : LINE_MOST);
    buf_byte(ret, 0);
    ret->failed = ret->failed || line.failed || target.failed;
    buf_done(&line);
    buf_done(&target);
}

static uint32_t put_texts(const char *const *texts, struct buf *ret)
{
    uint32_t n = 0;
    for (; texts[n]; n++)
        buf_add(ret, texts[n], strlen(texts[n]) + 1);
    return n;
}

/* Sets the pointers; the text has as many strings as they need. */
static void find_texts(struct tape_head *h)
{
    h->line = h->text;
    h->title = tape_head_next(h->line);
    h->pids = tape_head_next(h->title);
    h->host = tape_head_next(h->pids);
    h->argv = tape_head_next(h->host);
    h->tags = h->argv;
    for (uint32_t i = 0; i < h->is.n_argv; i++)
        h->tags = tape_head_next(h->tags);
}

int tape_head_read(struct baro_tape *tape, struct tape_head *ret, struct baro_error *err)
{
    struct baro_tape_end end = {.size = sizeof(end)};
    const struct baro_header *h = baro_tape_header(tape);
    struct buf text = {0};
    int code = baro_tape_read_end(tape, &end, err);
    if (code < 0)
        return code;
    *ret = (struct tape_head){.is = {.start_ns = baro_header_start_realtime_ns(h),
                                     .last_ns = end.last_ns,
                                     .command_start_ns = *baro_header_argv(h) ? end.command_start_ns : 0,
                                     .command_end_ns = end.command_end_ns,
                                     .status = end.status,
                                     .state = (uint8_t)baro_tape_state(tape),
                                     .ended = end.ended,
                                     .status_known = end.status_known,
                                     .detached = end.detached,
                                     .complete = end.complete}};
    snprintf(ret->is.id, sizeof(ret->is.id), "%s", baro_tape_id(tape));
    snprintf(ret->is.ended_by, sizeof(ret->is.ended_by), "%s", end.ended_by);
    put_line(tape, &text);
    buf_add(&text, baro_header_name(h), strlen(baro_header_name(h)) + 1);
    for (size_t i = 0; i < baro_header_target_count(h) && text.len < 2 * LINE_MOST; i++)
        buf_printf(&text, "%s%d", i ? ", " : "", baro_header_target(h, i));
    buf_byte(&text, 0);
    buf_add(&text, baro_header_host(h), strlen(baro_header_host(h)) + 1);
    ret->is.n_argv = put_texts(baro_header_argv(h), &text);
    ret->is.n_tags = put_texts(baro_header_tags(h), &text);
    if (text.failed) {
        buf_done(&text);
        return error_set(err, -ENOMEM, "out of memory");
    }
    ret->text = (char *)text.at;
    ret->len = text.len;
    find_texts(ret);
    return 0;
}

void tape_head_done(struct tape_head *h)
{
    free(h->text);
    free(h->error);
    *h = (struct tape_head){0};
}

const char *tape_head_tag(const struct tape_head *h, const char *key)
{
    const char *tag = h->tags;
    for (uint32_t i = 0; i < h->is.n_tags; i++, tag = tape_head_next(tag)) {
        size_t n = strlen(key);
        if (strncmp(tag, key, n) == 0 && tag[n] == '=')
            return tag + n + 1;
    }
    return NULL;
}

bool tape_head_has_tag(const struct tape_head *h, const char *wanted)
{
    const char *tag = h->tags;
    for (uint32_t i = 0; i < h->is.n_tags; i++, tag = tape_head_next(tag)) {
        if (strcmp(tag, wanted) == 0)
            return true;
    }
    return false;
}

bool tape_head_failed(const struct tape_head *h)
{
    if (*h->is.ended_by)
        return true;
    if (h->is.ended && h->is.status_known)
        return !WIFEXITED(h->is.status) || WEXITSTATUS(h->is.status) != 0;
    return !h->is.ended && h->is.state == BARO_TAPE_CUT_OFF;
}

void tape_head_pack(const struct tape_head *h, struct buf *ret)
{
    buf_add(ret, &h->is, sizeof(h->is));
    buf_add(ret, h->text, h->len);
}

bool tape_head_unpack(const void *at, size_t len, struct tape_head *ret)
{
    struct tape_head h = {.len = len - sizeof(h.is)};
    uint64_t texts = 0;
    if (len <= sizeof(h.is))
        return false;
    memcpy(&h.is, at, sizeof(h.is));
    const char *text = (const char *)at + sizeof(h.is);
    for (size_t i = 0; i < h.len; i++)
        texts += !text[i];
    const uint8_t *flags = (const uint8_t *)&h.is.ended;
    if (text[h.len - 1] || texts != 4 + (uint64_t)h.is.n_argv + h.is.n_tags || h.is.state > BARO_TAPE_CUT_OFF ||
        h.is.id[TAPE_ID_SIZE - 1] || h.is.ended_by[ENDED_BY_SIZE - 1] ||
        (flags[0] | flags[1] | flags[2] | flags[3]) > 1)
        return false;
    h.text = malloc(h.len);
    if (!h.text)
        return false;
    memcpy(h.text, text, h.len);
    find_texts(&h);
    *ret = h;
    return true;
}
