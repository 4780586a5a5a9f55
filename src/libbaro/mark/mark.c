/* SPDX-License-Identifier: Apache-2.0 */
/* Marks and phases from within a job. include/baro/mark.h has the rules. */
#include "baro/mark.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

#include "libbaro/mark/lock.h"

struct line {
    char at[BARO_MARK_MAX];
    size_t len;
    bool is_full;
};

static void put_bytes(struct line *l, const char *text, size_t len)
{
    l->is_full = l->is_full || len > sizeof(l->at) - l->len;
    if (l->is_full)
        return;
    memcpy(l->at + l->len, text, len);
    l->len += len;
}

static void put_str(struct line *l, const char *text)
{
    put_bytes(l, text, strlen(text));
}

/* Escapes only what JSON requires; the recorder gets the bytes as they were given. */
static void put_json_text(struct line *l, const char *text)
{
    put_bytes(l, "\"", 1);
    for (; *text; text++) {
        char escape[8];
        unsigned char c = (unsigned char)*text;
        if (c < ' ')
            put_bytes(l, escape, (size_t)snprintf(escape, sizeof(escape), "\\u%04x", c));
        else if (c == '"' || c == '\\')
            put_bytes(l, (char[]){'\\', (char)c}, 2);
        else
            put_bytes(l, text, 1);
    }
    put_bytes(l, "\"", 1);
}

/* Writes what stands between the braces of the attributes. A record is one line, so tabs and ends of lines become
 * spaces. */
static int put_attributes(struct line *l, const char *attributes)
{
    static const char blanks[] = " \t\r\n";
    const char *at = attributes + strspn(attributes, blanks), *end = attributes + strlen(attributes);
    while (end > at && strchr(blanks, end[-1]))
        end--;
    if (end - at < 2 || *at != '{' || end[-1] != '}')
        return BARO_E_SYNTAX;
    at++;
    end--;
    at += strspn(at, blanks);
    if (at >= end)
        return 0;
    put_str(l, ", ");
    for (; at < end; at++)
        put_bytes(l, (unsigned char)*at < ' ' ? " " : at, 1);
    return 0;
}

int marks_events_open(void)
{
    const char *path = getenv("BARO_EVENTS");
    struct stat st;
    if (!path || !*path)
        return -ENOENT;
    if (stat(path, &st) < 0)
        return -errno;
    if (!S_ISREG(st.st_mode))
        return -ESRCH;
    int fd = open(path, O_WRONLY | O_APPEND | O_NONBLOCK | O_NOCTTY | O_CLOEXEC);
    if (fd < 0)
        return -errno;
    if (fstat(fd, &st) == 0 && S_ISREG(st.st_mode) && marks_lock_is_held(fd))
        return fd;
    close(fd);
    return -ESRCH;
}

static int append_record(const char *edge, const char *name, const char *attributes)
{
    struct line l = {.len = 0};
    struct timespec now;
    char number[64];
    int code = name && *name ? 0 : BARO_E_RANGE;
    if (code < 0)
        return code;
    int fd = marks_events_open();
    if (fd < 0)
        return fd;
    clock_gettime(CLOCK_MONOTONIC, &now);
    put_bytes(&l, "{\"", 2);
    put_str(&l, edge);
    put_bytes(&l, "\": ", 3);
    put_json_text(&l, name);
    snprintf(number, sizeof(number), ", \"monotonic_ns\": %llu",
             (unsigned long long)now.tv_sec * 1000000000 + (unsigned long long)now.tv_nsec);
    put_str(&l, number);
    code = attributes ? put_attributes(&l, attributes) : 0;
    snprintf(number, sizeof(number), ", \"pid\": %ld}\n", (long)getpid());
    put_str(&l, number);
    if (code == 0 && l.is_full)
        code = BARO_E_RANGE;
    ssize_t n = code < 0 ? 0 : write(fd, l.at, l.len);
    if (n < 0)
        code = -errno;
    else if (code == 0 && (size_t)n < l.len)
        code = -ENOSPC;
    close(fd);
    return code;
}

int baro_mark(const char *name, const char *attributes)
{
    return append_record("mark", name, attributes);
}

int baro_phase_begin(const char *name, const char *attributes)
{
    return append_record("begin", name, attributes);
}

int baro_phase_end(const char *name, const char *attributes)
{
    return append_record("end", name, attributes);
}
