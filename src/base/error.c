/* SPDX-License-Identifier: Apache-2.0 */
#include "base/error.h"

#include <stdarg.h>
#include <stdio.h>
#include <string.h>

#include "base/escape.h"

/* The text is made on the stack, because errors must also work when memory is short. The raw text may be truncated
 * within a character. That is far beyond the part that is kept, which ends with a whole character or escape. */
__attribute__((format(printf, 2, 0))) static void set_text(struct baro_error *err, const char *format, va_list args)
{
    char raw[4 * sizeof(err->text)], room[4];
    size_t n = 0;
    int len = vsnprintf(raw, sizeof(raw), format, args);
    struct span rest = span_of(raw, len < 0 ? 0 : strnlen(raw, sizeof(raw) - 1));
    while (rest.len) {
        struct span written = escape_next(&rest, room);
        if (written.len >= sizeof(err->text) - n)
            break;
        memcpy(err->text + n, written.at, written.len);
        n += written.len;
    }
    err->text[n] = 0;
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

int error_wrap(struct baro_error *err, int code, const struct baro_error *of, const char *format, ...)
{
    va_list args;
    if (!err)
        return code;
    const struct baro_error behind = *of; /* may be *err */
    err->code = code;
    va_start(args, format);
    set_text(err, format, args);
    va_end(args);
    size_t n = strlen(err->text);
    snprintf(err->text + n, sizeof(err->text) - n, "%s", behind.text);
    return code;
}
