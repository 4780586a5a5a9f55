/* SPDX-License-Identifier: Apache-2.0 */
#include "programs/baro/mark_line.h"

#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include <unistd.h>

#include "base/clock.h"
#include "base/fd.h"
#include "base/json.h"
#include "base/json_scan.h"
#include "libbaro/mark/lock.h"

/* The recorder gets the bytes as they were given. */
static void put_json_text(struct buf *b, const char *text, size_t len)
{
    struct json j = {.out = b};
    json_exact_n(&j, text, len);
}

static void put_json_key(struct buf *b, const char *key, size_t len)
{
    buf_str(b, b->len ? ", " : "{");
    put_json_text(b, key, len);
    buf_str(b, ": ");
}

/* In a time namespace CLOCK_MONOTONIC may differ from the recorder's; the time of day is the same. */
static bool has_other_clock(void)
{
    char text[256];
    ssize_t n = fd_read_file(AT_FDCWD, "/proc/self/timens_offsets", text, sizeof(text) - 1);
    text[n > 0 ? n : 0] = 0;
    return strpbrk(text, "123456789") != NULL;
}

void mark_line_begin(struct buf *b, const char *edge, const char *name, uint64_t t_ns)
{
    mark_line_text(b, edge, name);
    if (!has_other_clock()) {
        mark_line_number(b, "monotonic_ns", t_ns);
        return;
    }
    uint64_t ns = (uint64_t)clock_realtime_ns() - (clock_monotonic_ns() - t_ns);
    put_json_key(b, "time", strlen("time"));
    buf_printf(b, "%llu.%09llu", (unsigned long long)(ns / NS_PER_SEC), (unsigned long long)(ns % NS_PER_SEC));
}

void mark_line_number(struct buf *b, const char *key, uint64_t v)
{
    put_json_key(b, key, strlen(key));
    buf_u64(b, v);
}

void mark_line_text(struct buf *b, const char *key, const char *text)
{
    put_json_key(b, key, strlen(key));
    put_json_text(b, text, strlen(text));
}

/* Is it a number in JSON? 007 is text. */
static bool is_number(const char *text)
{
    struct span s = span_str(text);
    unsigned levels;
    bool is_one = *text == '-' || (*text >= '0' && *text <= '9');
    return is_one && strcmp(text, "-Infinity") != 0 && json_value(&s, &levels) && !s.len;
}

bool mark_line_attribute(struct buf *b, const char *word)
{
    const char *value = strchr(word, '=');
    if (!value || value == word)
        return false;
    put_json_key(b, word, (size_t)(value - word));
    value++;
    if (is_number(value) || strcmp(value, "true") == 0 || strcmp(value, "false") == 0)
        buf_str(b, value);
    else
        put_json_text(b, value, strlen(value));
    return true;
}

int mark_line_append(struct buf *b)
{
    buf_str(b, "}\n");
    if (b->failed)
        return -ENOMEM;
    int fd = marks_events_open();
    if (fd < 0)
        return fd;
    ssize_t n = write(fd, b->at, b->len);
    int code = n < 0 ? -errno : (size_t)n < b->len ? -ENOSPC : 0;
    fd_close(fd);
    return code;
}

const char *mark_line_why(int code)
{
    switch (code) {
    case -ENOENT: return "this is not within a recording (BARO_EVENTS names no file)";
    case -EACCES:
    case -EPERM: return "this user may not write to the file that BARO_EVENTS names";
    case -ESRCH:
        return "no recorder reads the file that BARO_EVENTS names (baro record --events FILE reads one of yours)";
    default: return strerror(-code);
    }
}
