/* SPDX-License-Identifier: Apache-2.0 */
#include "base/error.h"

#include <stdarg.h>
#include <string.h>

#include "base/buf.h"

static void set_text(struct baro_error *err, const char *format, va_list args)
{
    struct buf raw = {0}, text = {0};
    buf_vprintf(&raw, format, args);
    buf_escaped(&text, (const char *)raw.at, raw.len);
    size_t n = text.failed ? 0 : text.len;
    if (n >= sizeof(err->text))
        n = sizeof(err->text) - 1;
    if (n)
        memcpy(err->text, text.at, n);
    err->text[n] = 0;
    buf_done(&raw);
    buf_done(&text);
}

int error_set(struct baro_error *err, int code, const char *format, ...)
{
    va_list args;
    if (!err)
        return code;
    err->code = code;
    va_start(args, format);
    set_text(err, format, args);
    va_end(args);
    return code;
}
