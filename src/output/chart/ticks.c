/* SPDX-License-Identifier: Apache-2.0 */
/* Where ticks stand, and how values are written. */
#include <math.h>
#include <stdio.h>

#include "base/clock.h"
#include "base/fmt.h"
#include "output/chart/chart.h"

const char *chart_unit_name(enum chart_unit unit)
{
    static const char *const names[] = {
        [CHART_COUNT] = "",
        [CHART_CORES] = "cores",
        [CHART_BYTES] = "bytes",
        [CHART_BYTES_PER_SECOND] = "bytes per second",
        [CHART_PER_SECOND] = "per second",
        [CHART_RATIO] = "ratio",
        [CHART_SECONDS] = "seconds",
        [CHART_CELSIUS] = "celsius",
        [CHART_HERTZ] = "hertz",
        [CHART_WATTS] = "watts",
        [CHART_NUMBER] = "",
    };
    return names[unit];
}

static double clamp(double v)
{
    return v < 0 ? 0 : v > 9e18 ? 9e18 : v;
}

/* Three digits: "1.97", "12.3", "151", "1,510". */
static void number_text(double v, struct buf *ret)
{
    double size = fabs(v);
    if (size >= 999.5 && size < 9e18) {
        if (v < 0)
            buf_byte(ret, '-');
        fmt_count(ret, (uint64_t)(size + 0.5));
        return;
    }
    int digits = size >= 99.95 ? 0 : size >= 9.995 ? 1 : size >= 0.0995 || size == 0 ? 2 : 3;
    if (size == floor(size))
        digits = 0;
    fmt_decimal(ret, v, digits);
}

/* Four digits of a small number: "0.3127", "0.00001234". */
static void small_text(double v, struct buf *ret)
{
    double size = fabs(v);
    int digits = size >= 1e-9 && size < 1 ? 3 - (int)floor(log10(size)) : 9;
    fmt_decimal(ret, v, digits < 12 ? digits : 12);
    while (ret->len && ret->at[ret->len - 1] == '0')
        ret->len--;
}

#define NUMBER_LARGE 1e15 /* from here on, and below the small limit, a number has a power of ten: "1.50e300" */
#define NUMBER_SMALL 1e-6

static bool has_power(double size)
{
    return size >= NUMBER_LARGE || (size > 0 && size < NUMBER_SMALL);
}

/* Splits v into a number from 1 to 10, which it returns, and a power of ten. size: the magnitude of v. Powers below
 * 1e-300 are computed in two steps, because the power alone would be 0. */
static double without_power(double v, double size, int *ret_power)
{
    *ret_power = (int)floor(log10(size));
    return *ret_power < -300 ? v * 1e300 / pow(10, *ret_power + 300) : v / pow(10, *ret_power);
}

static void power_text(double v, struct buf *ret)
{
    int power;
    double shown = without_power(v, fabs(v), &power);
    fmt_decimal(ret, shown, shown == floor(shown) ? 0 : 2);
    buf_printf(ret, "e%d", power);
}

void chart_value_text(enum chart_unit unit, double value, struct buf *ret)
{
    switch (unit) {
    case CHART_CORES:
        fmt_decimal(ret, value, value == floor(value) ? 0 : value < 9.995 ? 2 : 1);
        buf_str(ret, value == 1 ? " core" : " cores");
        break;
    case CHART_BYTES:
    case CHART_BYTES_PER_SECOND:
        fmt_bytes(ret, (uint64_t)(clamp(value) + 0.5));
        buf_str(ret, unit == CHART_BYTES ? "" : "/s");
        break;
    case CHART_RATIO:
        number_text(value * 100, ret);
        buf_str(ret, " %");
        break;
    case CHART_SECONDS: fmt_duration(ret, (uint64_t)(clamp(value * 1e9))); break;
    case CHART_CELSIUS:
        fmt_decimal(ret, value, 1);
        buf_str(ret, " \302\260C");
        break;
    case CHART_HERTZ:
        fmt_decimal(ret, value / 1e9, 2);
        buf_str(ret, " GHz");
        break;
    case CHART_WATTS:
        fmt_decimal(ret, value, value < 10 ? 1 : 0);
        buf_str(ret, " W");
        break;
    case CHART_NUMBER:
        if (has_power(fabs(value)))
            power_text(value, ret);
        else if (value != floor(value) && fabs(value) < 1)
            small_text(value, ret);
        else
            number_text(value, ret);
        break;
    default: number_text(value, ret); buf_str(ret, unit == CHART_PER_SECOND ? "/s" : "");
    }
}

/* ---- values ---- */

/* Returns the least of 1, 2, 5 times a power of ten that is at least v. */
static double nice_above(double v)
{
    double power = pow(10, floor(log10(v)));
    static const double steps[] = {1, 2, 5, 10};
    for (size_t i = 0; i < sizeof(steps) / sizeof(*steps); i++) {
        if (steps[i] * power >= v * (1 - 1e-9))
            return steps[i] * power;
    }
    return 10 * power;
}

struct scale {
    double by;
    char text[8];
};

/* Returns the unit for an axis with this end: all its ticks have the same unit. */
static struct scale scale_of(enum chart_unit unit, double end)
{
    static const struct scale bytes[2][6] = {
        {{1e15, " PB"}, {1e12, " TB"}, {1e9, " GB"}, {1e6, " MB"}, {1e3, " kB"}, {1, " B"}},
        {{1e15, " PB/s"}, {1e12, " TB/s"}, {1e9, " GB/s"}, {1e6, " MB/s"}, {1e3, " kB/s"}, {1, " B/s"}}};
    struct scale one = {.by = 1};
    if (unit == CHART_BYTES || unit == CHART_BYTES_PER_SECOND) {
        const struct scale *of = bytes[unit == CHART_BYTES_PER_SECOND];
        size_t i = 0;
        while (i < 5 && end < of[i].by)
            i++;
        return of[i];
    }
    snprintf(one.text, sizeof(one.text), "%s",
             unit == CHART_PER_SECOND ? "/s"
             : unit == CHART_CELSIUS  ? " \302\260C"
             : unit == CHART_WATTS    ? " W"
                                      : "");
    switch (unit) {
    case CHART_RATIO: return (struct scale){0.01, " %"};
    case CHART_PER_SECOND:
        return end >= 1e7 ? (struct scale){1e6, " M/s"} : end >= 1e4 ? (struct scale){1e3, " k/s"} : one;
    case CHART_HERTZ: return (struct scale){1e9, " GHz"};
    case CHART_SECONDS:
        return end >= 7200  ? (struct scale){3600, " h"}
               : end >= 120 ? (struct scale){60, " min"}
               : end >= 1   ? (struct scale){1, " s"}
                            : (struct scale){1e-3, " ms"};
    case CHART_COUNT: return end >= 1e7 ? (struct scale){1e6, " M"} : end >= 1e5 ? (struct scale){1e3, " k"} : one;
    case CHART_NUMBER:
        if (has_power(end)) {
            int power = (int)floor(log10(end));
            one.by = pow(10, power);
            snprintf(one.text, sizeof(one.text), "e%d", power);
        }
        return one;
    default: return one;
    }
}

static double least_step(enum chart_unit unit)
{
    return unit == CHART_COUNT || unit == CHART_BYTES ? 1 : 0;
}

static void tick_text(const struct scale *scale, double at, double step, char ret[CHART_TICK_TEXT])
{
    double shown = at / scale->by, step_shown = step / scale->by;
    int digits = step_shown >= 0.999 ? 0 : (int)ceil(-log10(step_shown) - 1e-9);
    struct buf b = {0};
    if (digits <= 0 && shown >= 1000 && shown < 9e18)
        fmt_count(&b, (uint64_t)(shown + 0.5));
    else
        fmt_decimal(&b, shown, digits < 0 ? 0 : digits > 9 ? 9 : digits);
    if (at > 0)
        buf_str(&b, scale->text);
    snprintf(ret, CHART_TICK_TEXT, "%.*s", (int)b.len, b.at ? (const char *)b.at : "");
    buf_done(&b);
}

static void make_ticks(enum chart_unit unit, double low, double top, size_t most, struct chart_ticks *ret)
{
    top = !(top > 0) ? 1 : top < 1e-300 ? 1e-300 : top > 1e308 ? 1e308 : top;
    most = most < 2 ? 2 : most > CHART_TICKS_MAX ? CHART_TICKS_MAX : most;
    double step = nice_above((top - low) / (double)(most - 1));
    step = step < least_step(unit) ? least_step(unit) : step;
    struct scale scale = scale_of(unit, step * fmax(1, ceil(top / step - 1e-9)));
    /* Time in minutes or hours: ticks at round numbers of these. */
    if (unit == CHART_SECONDS && scale.by > 1)
        step = nice_above((top - low) / scale.by / (double)(most - 1)) * scale.by;
    double first = floor(low / step + 1e-9), last = fmax(1, ceil(top / step - 1e-9));
    *ret = (struct chart_ticks){.begin = step * first, .end = step * last};
    for (double k = first; k <= last && ret->n < CHART_TICKS_MAX; k++, ret->n++) {
        ret->at[ret->n].at = k * step;
        tick_text(&scale, k * step, step, ret->at[ret->n].text);
    }
}

void chart_value_ticks(enum chart_unit unit, double top, size_t most, struct chart_ticks *ret)
{
    make_ticks(unit, 0, top, most, ret);
}

void chart_axis_ticks(const struct chart *c, size_t most, struct chart_ticks *ret)
{
    double top = chart_top(c);
    if (c->unit == CHART_RATIO && top > 1 && top < 1.1) /* the parts of a ratio are read at different instants */
        top = 1;
    make_ticks(c->unit, top > c->low ? c->low : 0, top, most, ret);
}

/* ---- time ---- */

/* clang-format off */
static const uint64_t time_steps[] = {
    1000, 10000, 100000, NS_PER_MS, 2 * NS_PER_MS, 5 * NS_PER_MS, 10 * NS_PER_MS, 20 * NS_PER_MS,
    50 * NS_PER_MS, 100 * NS_PER_MS, 200 * NS_PER_MS, 500 * NS_PER_MS, NS_PER_SEC, 2 * NS_PER_SEC,
    5 * NS_PER_SEC, 10 * NS_PER_SEC, 15 * NS_PER_SEC, 30 * NS_PER_SEC, 60 * NS_PER_SEC, 120 * NS_PER_SEC,
    300 * NS_PER_SEC, 600 * NS_PER_SEC, 900 * NS_PER_SEC, 1800 * NS_PER_SEC, 3600 * NS_PER_SEC,
    7200 * NS_PER_SEC, 10800 * NS_PER_SEC, 21600 * NS_PER_SEC, 43200 * NS_PER_SEC, 86400 * NS_PER_SEC,
    172800 * NS_PER_SEC, 604800 * NS_PER_SEC, 2592000 * NS_PER_SEC, 31536000 * NS_PER_SEC,
};
/* clang-format on */
#define TIME_STEPS (sizeof(time_steps) / sizeof(*time_steps))

struct clock {
    unsigned long long days, hours, minutes, seconds; /* all days, hours, ...: each beyond the next larger unit, too */
};

/* "0", "250 ms", "1.5 s", "45 s", "1:30", "5 min", "2:30 h", "3 d 6 h": in the form that step and span ask for. */
static void time_text(int64_t ns, uint64_t step_ns, uint64_t span_ns, char ret[CHART_TICK_TEXT])
{
    const uint64_t minute = 60 * NS_PER_SEC, hour = 60 * minute, day = 24 * hour;
    char text[CHART_TICK_TEXT - 1];
    uint64_t t = ns < 0 ? (uint64_t)-ns : (uint64_t)ns;
    const struct clock c = {t / day, t / hour, t / minute, t / NS_PER_SEC};
    int digits = step_ns < 10 * NS_PER_MS ? 3 : step_ns < 100 * NS_PER_MS ? 2 : 1;
    if (t == 0)
        snprintf(text, sizeof(text), "0");
    else if (span_ns < NS_PER_MS)
        snprintf(text, sizeof(text), "%llu \302\265s", (unsigned long long)(t / 1000));
    else if (span_ns < NS_PER_SEC)
        snprintf(text, sizeof(text), "%llu ms", (unsigned long long)(t / NS_PER_MS));
    else if (step_ns < NS_PER_SEC)
        snprintf(text, sizeof(text), "%.*f s", digits, (double)t / 1e9);
    else if (span_ns <= 2 * minute)
        snprintf(text, sizeof(text), "%llu s", c.seconds);
    else if (span_ns < 2 * hour && step_ns % minute == 0)
        snprintf(text, sizeof(text), "%llu min", c.minutes);
    else if (span_ns < 2 * hour)
        snprintf(text, sizeof(text), "%llu:%02llu", c.minutes, c.seconds % 60);
    else if (span_ns < 3 * day && step_ns % hour == 0)
        snprintf(text, sizeof(text), "%llu h", c.hours);
    else if (span_ns < 3 * day)
        snprintf(text, sizeof(text), "%llu:%02llu h", c.hours, c.minutes % 60);
    else if (step_ns % day == 0)
        snprintf(text, sizeof(text), "%llu d", c.days);
    else
        snprintf(text, sizeof(text), "%llu d %llu h", c.days, c.hours % 24);
    snprintf(ret, CHART_TICK_TEXT, "%s%s", ns < 0 ? "-" : "", text);
}

/* Leaves out every second one, or more of them, if there are too many. */
static void some_ticks(const struct chart_ticks *all, size_t most, struct chart_ticks *ret)
{
    size_t step = (all->n + most - 1) / most;
    ret->n = 0;
    ret->end = all->end;
    for (size_t i = 0; i < all->n; i += step)
        ret->at[ret->n++] = all->at[i];
}

void chart_time_ticks(const struct chart *c, size_t most, struct chart_ticks *ret)
{
    uint64_t span = c->to_ns - c->from_ns;
    most = most < 2 ? 2 : most > CHART_TICKS_MAX ? CHART_TICKS_MAX : most;
    if (c->ticks) {
        some_ticks(c->ticks, most, ret);
        return;
    }
    size_t i = 0;
    while (i + 1 < TIME_STEPS && span / time_steps[i] > most - 1)
        i++;
    int64_t step = (int64_t)time_steps[i];
    int64_t from = (int64_t)(c->from_ns - c->start_ns), at = from / step * step;
    if (at < from)
        at += step;
    ret->n = 0;
    ret->end = (double)c->to_ns;
    for (; at <= from + (int64_t)span && ret->n < most; at += step) {
        struct chart_tick *tick = &ret->at[ret->n++];
        tick->at = (double)(at + (int64_t)c->start_ns);
        time_text(at, (uint64_t)step, span, tick->text);
    }
}
