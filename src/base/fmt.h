/* SPDX-License-Identifier: Apache-2.0 */
/* Numbers for people and numbers from people, independent of the locale. */
#ifndef BASE_FMT_H
#define BASE_FMT_H

#include <stdbool.h>
#include <stdint.h>

#include "base/buf.h"
#include "base/error.h"

/* Returns the whole part, or the nearest 64-bit number: a double that was computed from large numbers of a tape may
 * exceed the range. */
static inline uint64_t whole_of(double v)
{
    return !(v > 0) ? 0 : v >= 18446744073709551616.0 ? UINT64_MAX : (uint64_t)v;
}

void fmt_bytes(struct buf *b, uint64_t bytes); /* "412 MB", "2.31 GB": decimal units, three digits */
/* Writes a limit in the unit in which it was set: "300 MiB" for 314,572,800 bytes, "500 MB" for 500,000,000. */
void fmt_limit(struct buf *b, uint64_t bytes);
void fmt_duration(struct buf *b, uint64_t ns);         /* "41.3 s", "5 min 12 s", "2 h 03 min", "3.1 ms" */
void fmt_count(struct buf *b, uint64_t n);             /* "4,812" */
void fmt_decimal(struct buf *b, double v, int digits); /* '.' in every locale */
/* A time in UTC. Not struct tm, because gmtime_r(3) reads the file of the local time zone first. */
struct utc {
    int64_t year;
    unsigned month, day, hour, minute, second, ns; /* month and day from 1 on */
};
struct utc utc_of(int64_t realtime_ns);
void fmt_time_utc(struct buf *b, int64_t realtime_ns); /* RFC 3339 with milliseconds and Z */
/* For people: RFC 3339 in the zone east_seconds east of UTC, "2026-11-21T11:04:26.568+01:00"; milliseconds are
 * optional. */
void fmt_time_zone(struct buf *b, int64_t realtime_ns, long east_seconds, bool milliseconds);
/* Writes a time of a recording in the form of --at: "+4.831s", "+1h02min03.004s". Rounds down to milliseconds, so the
 * result is never later than the time. */
void fmt_moment(struct buf *b, uint64_t t_ns);

/* "100ms", "1s", "2.5 min", "1h", "1h30m"; a bare number is an error. */
int parse_duration(const char *text, uint64_t *ret_ns, struct baro_error *err);
/* "512", "10k", "1.5GB", "2GiB": k M G T are powers of 1000, KiB MiB ... of 1024. */
int parse_size(const char *text, uint64_t *ret_bytes, struct baro_error *err);
/* "1.05" */
int parse_decimal(const char *text, double *ret, struct baro_error *err);
/* "1%", "0.5%": parts per million of one. */
int parse_percent(const char *text, uint64_t *ret_ppm, struct baro_error *err);
int parse_pid(const char *text, int32_t *ret, struct baro_error *err);

#endif
