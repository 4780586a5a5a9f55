/* SPDX-License-Identifier: Apache-2.0 */
#include "programs/common/moment.h"

#include <stdio.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include "base/clock.h"
#include "base/fmt.h"
#include "base/span.h"
#include "programs/common/zone.h"

#define DAY_NS (86400 * (int64_t)NS_PER_SEC)

static int wrong(const char *text, struct baro_error *err)
{
    return error_set(err, BARO_E_SYNTAX, "invalid time '%.60s': write %s", text, MOMENT_FORMS);
}

/* Exactly n digits. */
static bool digits(struct span *s, size_t n, int *ret)
{
    int v = 0;
    if (s->len < n)
        return false;
    for (size_t i = 0; i < n; i++) {
        if (s->at[i] < '0' || s->at[i] > '9')
            return false;
        v = 10 * v + (s->at[i] - '0');
    }
    *s = span_of(s->at + n, s->len - n);
    *ret = v;
    return true;
}

/* 12:30, 12:30:05, 12:30:05.250 */
static bool clock_time(struct span *s, struct tm *t, int64_t *ret_ns, uint64_t *ret_unit_ns)
{
    *ret_ns = 0;
    *ret_unit_ns = 60 * NS_PER_SEC;
    t->tm_sec = 0;
    if (!digits(s, 2, &t->tm_hour) || !scan_char(s, ':') || !digits(s, 2, &t->tm_min))
        return false;
    if (scan_char(s, ':')) {
        *ret_unit_ns = NS_PER_SEC;
        if (!digits(s, 2, &t->tm_sec))
            return false;
    }
    if (t->tm_hour > 23 || t->tm_min > 59 || t->tm_sec > 60)
        return false;
    if (!scan_char(s, '.'))
        return true;
    int64_t unit = (int64_t)NS_PER_SEC / 10;
    int digit, n = 0;
    for (; digits(s, 1, &digit); unit /= 10, n++) {
        *ret_ns += digit * unit;
        *ret_unit_ns = unit > 1 ? (uint64_t)unit : 1;
    }
    return n > 0;
}

/* Z, +02:00, +0200, +02 */
static bool zone(struct span *s, long *ret_seconds)
{
    int hours, minutes = 0;
    *ret_seconds = 0;
    if (scan_char(s, 'Z') || scan_char(s, 'z'))
        return true;
    bool west = s->len && s->at[0] == '-';
    if (!scan_char(s, '+') && !scan_char(s, '-'))
        return false;
    if (!digits(s, 2, &hours))
        return false;
    bool colon = scan_char(s, ':');
    if (!digits(s, 2, &minutes) && colon)
        return false;
    if (hours > 14 || minutes > 59)
        return false;
    *ret_seconds = (west ? -1 : 1) * (hours * 3600L + minutes * 60L);
    return true;
}

static bool date(struct span *s, struct tm *t)
{
    int year, month;
    if (!digits(s, 4, &year) || !scan_char(s, '-') || !digits(s, 2, &month) || !scan_char(s, '-') ||
        !digits(s, 2, &t->tm_mday))
        return false;
    t->tm_year = year - 1900;
    t->tm_mon = month - 1;
    return month >= 1 && month <= 12 && t->tm_mday >= 1 && t->tm_mday <= 31;
}

/* Returns the time since the start. Years go up to 9999: those after 2262, which have too many nanoseconds, are 2262,
 * and those before 1897 are 1897. The header of a damaged tape may have any number: so the difference is unsigned, and
 * may wrap. */
static int64_t ns_since_start(time_t when, int64_t fraction, int64_t start_realtime_ns)
{
    const time_t most = INT64_MAX / (int64_t)NS_PER_SEC - 1;
    when = when > most ? most : when < -most / 4 ? -most / 4 : when;
    return (int64_t)((uint64_t)when * NS_PER_SEC + (uint64_t)fraction - (uint64_t)start_realtime_ns);
}

static int absolute(const char *text, int64_t start_realtime_ns, struct moment *ret, struct baro_error *err)
{
    struct span s = span_str(text);
    struct tm t = {.tm_isdst = -1};
    int64_t fraction;
    long offset;
    time_t when;
    zone_init();
    if (!date(&s, &t) || !(scan_char(&s, 'T') || scan_char(&s, 't') || scan_char(&s, ' ')) ||
        !clock_time(&s, &t, &fraction, &ret->unit_ns))
        return wrong(text, err);
    int day = t.tm_mday;
    if (!s.len)
        when = mktime(&t);
    else if (zone(&s, &offset) && !s.len)
        when = timegm(&t) - offset;
    else
        return wrong(text, err);
    if (t.tm_mday != day && t.tm_sec < 60 && day > 28) /* February 30; the second 23:59:60 is one */
        return wrong(text, err);
    ret->ns = ns_since_start(when, fraction, start_realtime_ns);
    ret->is_wall = true;
    return 0;
}

/* The time of day on the local day of an instant, or so many days later. Returns false if the text is none. */
static bool on_day_of(const char *text, int64_t realtime_ns, int days, int64_t start_realtime_ns, struct moment *ret)
{
    struct span s = span_str(text);
    struct tm t;
    int64_t fraction;
    time_t when = (time_t)(realtime_ns / (int64_t)NS_PER_SEC);
    zone_init();
    if (!localtime_r(&when, &t) || !clock_time(&s, &t, &fraction, &ret->unit_ns) || s.len)
        return false;
    t.tm_isdst = -1;
    t.tm_mday += days;
    ret->ns = ns_since_start(mktime(&t), fraction, start_realtime_ns);
    return true;
}

/* "12:30" of a run that began at 12:30:20 means that minute, not the same time on the next day. */
#define BEFORE_START (-60 * (int64_t)NS_PER_SEC)

/* Finds the last such time of day at or before the end, when the clock showed `last`. If that is before the start, it
 * is the first one after the start: the one before would not be better. */
static int time_of_day(const char *text, int64_t start_realtime_ns, int64_t last, struct moment *ret,
                       struct baro_error *err)
{
    int64_t end = ns_since_start(0, last, start_realtime_ns);
    if (!on_day_of(text, last, 0, start_realtime_ns, ret))
        return wrong(text, err);
    if (ret->ns > end)
        on_day_of(text, last, -1, start_realtime_ns, ret);
    if (ret->ns < BEFORE_START)
        on_day_of(text, start_realtime_ns, 0, start_realtime_ns, ret);
    if (ret->ns < BEFORE_START)
        on_day_of(text, start_realtime_ns, 1, start_realtime_ns, ret);
    ret->is_wall = ret->is_of_a_day = true;
    return 0;
}

/* "yesterday 12:30" and "today 12:30", by the clock of the reader. Returns false if the text is none of these. */
static bool on_named_day(const char *text, int64_t start_realtime_ns, struct moment *ret)
{
    static const char *const days[] = {"today ", "yesterday "};
    for (int i = 0; i < 2; i++) {
        size_t len = strlen(days[i]);
        if (strncmp(text, days[i], len) != 0 || !on_day_of(text + len, clock_realtime_ns(), -i, start_realtime_ns, ret))
            continue;
        ret->is_wall = true;
        return true;
    }
    return false;
}

/* Returns how exact a duration is that parse_duration() takes: the last digit of "+4.83s" stands for 10 ms. Whole
 * minutes and hours are exact to the second. */
static uint64_t precision_of(const char *text)
{
    size_t len = strlen(text), from;
    char one[32];
    uint64_t ns;
    while (len && text[len - 1] == ' ')
        len--;
    for (from = len; from && ((text[from - 1] | 32) >= 'a' && (text[from - 1] | 32) <= 'z'); from--)
        ;
    snprintf(one, sizeof(one), "1%.*s", (int)(len - from), text + from);
    if (parse_duration(one, &ns, NULL) < 0)
        return 1;
    while (from && text[from - 1] == ' ')
        from--;
    size_t digit = from;
    while (digit && text[digit - 1] >= '0' && text[digit - 1] <= '9')
        digit--;
    for (; digit && text[digit - 1] == '.' && from > digit; from--)
        ns /= 10;
    return ns > NS_PER_SEC ? NS_PER_SEC : ns ? ns : 1;
}

static int from_an_end(const char *text, uint64_t end_ns, struct moment *ret, struct baro_error *err)
{
    uint64_t ns;
    struct baro_error inner = BARO_ERROR_INIT;
    if (parse_duration(text + (text[0] == '+' || text[0] == '-'), &ns, &inner) < 0)
        return error_wrap(err, BARO_E_SYNTAX, &inner, "%s: ", text);
    if (ns > INT64_MAX / 2 || end_ns > INT64_MAX / 2)
        return error_set(err, BARO_E_RANGE, "%s: too far", text);
    ret->ns = text[0] == '-' ? (int64_t)end_ns - (int64_t)ns : (int64_t)ns;
    ret->unit_ns = precision_of(text);
    return 0;
}

static int percent(const char *text, uint64_t end_ns, struct moment *ret, struct baro_error *err)
{
    uint64_t ppm;
    struct baro_error inner = BARO_ERROR_INIT;
    if (parse_percent(text, &ppm, &inner) < 0 || ppm > 1000000)
        return error_set(err, BARO_E_SYNTAX, "%s: %s", text, inner.text[0] ? inner.text : "more than 100%");
    ret->ns = (int64_t)((unsigned __int128)end_ns * ppm / 1000000);
    return 0;
}

static bool is_named_moment(const char *text, struct moment *ret)
{
    static const struct {
        const char *word;
        enum moment_kind kind;
    } words[] = {{"start", MOMENT_START}, {"0", MOMENT_START}, {"end", MOMENT_END}, {"peak", MOMENT_PEAK}};
    for (size_t i = 0; i < sizeof(words) / sizeof(*words); i++) {
        if (strcmp(text, words[i].word) != 0)
            continue;
        ret->kind = words[i].kind;
        return true;
    }
    return false;
}

static int64_t later(int64_t realtime_ns, uint64_t ns)
{
    return (int64_t)((uint64_t)realtime_ns + ns);
}

static int parse(const char *text, int64_t start_realtime_ns, uint64_t end_ns, int64_t last, struct moment *ret,
                 struct baro_error *err)
{
    size_t len = strlen(text);
    uint64_t ns;
    *ret = (struct moment){.kind = MOMENT_TIME, .unit_ns = 1};
    if (is_named_moment(text, ret))
        return 0;
    if (text[0] == '+' || text[0] == '-')
        return from_an_end(text, end_ns, ret, err);
    if (len > 1 && text[len - 1] == '%')
        return percent(text, end_ns, ret, err);
    if (len > 2 && text[2] == ':')
        return time_of_day(text, start_realtime_ns, last, ret, err);
    if (on_named_day(text, start_realtime_ns, ret))
        return 0;
    if (parse_duration(text, &ns, NULL) == 0)
        return from_an_end(text, end_ns, ret, err);
    return absolute(text, start_realtime_ns, ret, err);
}

int moment_parse(const char *text, int64_t start_realtime_ns, uint64_t end_ns, struct moment *ret,
                 struct baro_error *err)
{
    return parse(text, start_realtime_ns, end_ns, later(start_realtime_ns, end_ns), ret, err);
}

/* A clock that was set back may have shown the time of day on the day before the tape began. */
int moment_on_tape(const char *text, struct baro_tape *tape, uint64_t origin_ns, uint64_t end_ns, struct moment *ret,
                   struct baro_error *err)
{
    int64_t begin = (int64_t)((uint64_t)baro_header_start_realtime_ns(baro_tape_header(tape)) + origin_ns);
    int64_t at_ns = 0, origin = (int64_t)origin_ns, end = (int64_t)(origin_ns + end_ns);
    int64_t last = later(begin, end_ns);
    bool is_clock = strlen(text) > 2 && text[2] == ':';
    int code = is_clock ? baro_tape_realtime_ns(tape, origin_ns + end_ns, &last, err) : 0;
    if (code == 0)
        code = parse(text, begin, end_ns, last, ret, err);
    if (code < 0 || !ret->is_wall)
        return code;
    int64_t wall = (int64_t)((uint64_t)begin + (uint64_t)ret->ns);
    code = baro_tape_find_realtime(tape, wall, &at_ns, err);
    if (code == 0 && ret->is_of_a_day && at_ns > end) {
        int64_t before_ns;
        code = baro_tape_find_realtime(tape, (int64_t)((uint64_t)wall - DAY_NS), &before_ns, err);
        /* Outside of the tape it is the nearer one: 12:31 is before a tape that began at 12:40. */
        if (code == 0 && (before_ns >= origin || origin - before_ns < at_ns - end))
            at_ns = before_ns;
    }
    ret->ns = at_ns - origin;
    return code;
}

int moment_outside(const char *text, const struct moment *m, const struct baro_header *header, uint64_t end_ns,
                   struct baro_error *err)
{
    bool before = m->ns < 0 && (uint64_t)-m->ns >= m->unit_ns;
    bool after = m->ns > 0 && (uint64_t)m->ns > end_ns && (uint64_t)m->ns - end_ns >= m->unit_ns;
    int64_t start = baro_header_start_realtime_ns(header);
    struct buf b = {0};
    if (m->kind != MOMENT_TIME || (!before && !after))
        return 0;
    fmt_moment(&b, 0);
    buf_str(&b, " to ");
    fmt_moment(&b, end_ns);
    buf_str(&b, ", ");
    fmt_time_zone(&b, start, zone_east(start), true);
    buf_str(&b, " to ");
    fmt_time_zone(&b, (int64_t)((uint64_t)start + end_ns), zone_east(start), true);
    buf_byte(&b, 0);
    int code = error_set(err, BARO_E_RANGE, "%.40s is %s; the tape has %s", text,
                         before ? "before the beginning" : "after the end", b.failed ? "" : (const char *)b.at);
    buf_done(&b);
    return code;
}

uint64_t moment_tolerance(const struct moment *m)
{
    return m->kind == MOMENT_TIME && m->unit_ns >= NS_PER_MS ? NS_PER_MS - 1 : 0;
}
