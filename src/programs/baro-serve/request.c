/* SPDX-License-Identifier: Apache-2.0 */
#include "programs/baro-serve/request.h"

#include <errno.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/span.h"
#include "programs/baro-serve/catalogue.h"
#include "programs/baro-serve/live.h"
#include "programs/baro-serve/server.h"

void request_fail(struct request *q, unsigned status, const char *code, const char *format, ...)
{
    char text[512];
    struct json j = {.out = &q->out};
    va_list args;
    va_start(args, format);
    vsnprintf(text, sizeof(text), format, args);
    va_end(args);
    buf_clear(&q->out);
    q->status = status;
    q->type = NULL;
    q->text = NULL;
    q->etag[0] = 0;
    json_begin(&j, '{');
    json_key_begin(&j, "error", '{');
    json_key_u64(&j, "status", status);
    json_key_text(&j, "code", code);
    json_key_text(&j, "message", text);
    json_end(&j, '}');
    json_end(&j, '}');
}

void request_fail_tape(struct request *q, const struct baro_error *err)
{
    if (err->code == -ENOENT)
        request_fail(q, 404, "gone", "the tape of job %s was removed", job_id(q->job));
    else if (err->code == -ETIME)
        request_fail(q, 503, "too_slow", "the tape of job %s takes too long to read", job_id(q->job));
    else if (err->code == -ENOMEM)
        request_fail(q, 503, "no_memory", "out of memory");
    else
        request_fail(q, 500, "unreadable", "the tape of job %s can't be read: %s", job_id(q->job), err->text);
}

void request_fail_param(struct request *q, const char *before, const struct baro_error *err, int code)
{
    if (code == -ENOMEM || err->code == -ENOMEM)
        request_fail(q, 503, "no_memory", "out of memory");
    else
        request_fail(q, 400, "bad_parameter", "%s%s", before, err->text);
}

const char *request_param(const struct request *q, const char *name)
{
    for (size_t i = 0; i < q->n_params; i++) {
        if (strcmp(q->param[i].name, name) == 0)
            return q->param[i].value ? q->param[i].value : "";
    }
    return NULL;
}

bool request_number(struct request *q, const char *name, uint64_t otherwise, uint64_t most, uint64_t *ret)
{
    const char *text = request_param(q, name);
    struct span s = span_str(text ? text : "");
    *ret = otherwise;
    if (!text)
        return true;
    if (scan_u64(&s, ret) && !s.len && *ret <= most)
        return true;
    request_fail(q, 400, "bad_parameter", "%s is not a number from 0 to %llu", name, (unsigned long long)most);
    return false;
}

bool request_range(struct request *q, uint64_t limit, uint64_t most, struct page_range *ret)
{
    return request_number(q, "offset", 0, UINT32_MAX, &ret->offset) &&
           request_number(q, "limit", limit, most, &ret->limit);
}

struct baro_tape *request_tape(struct request *q)
{
    struct baro_error err = BARO_ERROR_INIT;
    struct baro_tape *tape = job_open(q->job, REQUEST_CPU_NS, &err);
    if (!tape)
        request_fail_tape(q, &err);
    return tape;
}

bool request_unchanged(struct request *q, const char *version)
{
    snprintf(q->etag, sizeof(q->etag), "\"%s\"", version);
    if (!q->if_none_match || !strstr(q->if_none_match, q->etag))
        return false;
    q->status = 304;
    return true;
}

int request_sink(void *buf, const char *text, size_t len)
{
    struct buf *b = buf;
    buf_add(b, text, len);
    return b->failed ? -ENOMEM : 0;
}

void request_json_end(struct request *q)
{
    if (q->out.failed) {
        buf_done(&q->out);
        request_fail(q, 503, "no_memory", "out of memory");
    }
    q->status = q->status ? q->status : 200;
}
