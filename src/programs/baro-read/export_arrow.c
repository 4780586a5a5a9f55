/* SPDX-License-Identifier: Apache-2.0 */
#include "programs/baro-read/export_arrow.h"

#include <errno.h>

#include "base/error.h"
#include "output/rows/arrow_ipc.h"

static int flush_batch(struct buf *text, struct output *out, struct baro_error *err)
{
    if (text->failed)
        return error_set(err, -ENOMEM, "out of memory");
    int r = output_write(out, text->at, text->len, err);
    buf_clear(text);
    return r;
}

static int stream_error(struct ArrowArrayStream *stream, int code, struct baro_error *err)
{
    const char *text = stream->get_last_error(stream);
    return error_set(err, -code, "%s", text ? text : "can't read the tape");
}

/* Writes a batch at a time. */
static int write_batches(struct ArrowArrayStream *stream, const struct ArrowSchema *schema, struct output *out,
                         struct baro_error *err)
{
    struct buf text = {0};
    struct ArrowArray array;
    arrow_ipc_schema(schema, &text);
    int r = flush_batch(&text, out, err);
    while (r >= 0) {
        int code = stream->get_next(stream, &array);
        r = code ? stream_error(stream, code, err) : r;
        if (code || !array.release)
            break;
        arrow_ipc_batch(schema, &array, &text);
        array.release(&array);
        r = flush_batch(&text, out, err);
    }
    arrow_ipc_end(&text);
    r = r < 0 ? r : flush_batch(&text, out, err);
    buf_done(&text);
    return r;
}

int export_stream(struct ArrowArrayStream *stream, struct output *out, struct baro_error *err)
{
    struct ArrowSchema schema;
    int code = stream->get_schema(stream, &schema);
    if (code)
        return stream_error(stream, code, err);
    int r = write_batches(stream, &schema, out, err);
    schema.release(&schema);
    return r;
}

int export_arrow(struct export_arrow *e, struct output *out, struct baro_error *err)
{
    struct baro_arrow_options options = BARO_ARROW_OPTIONS_INIT;
    struct ArrowArrayStream stream;
    options.user = e->user;
    options.user_context = e->user_context;
    int r = baro_tape_arrow(e->tape, e->rows, e->columns, &options, &stream, err);
    if (r < 0)
        return r;
    r = export_stream(&stream, out, err);
    e->damage = baro_arrow_damage(&stream);
    stream.release(&stream);
    return r;
}
