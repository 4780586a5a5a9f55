/* SPDX-License-Identifier: Apache-2.0 */
/* The texts of the PMU "power", as in arch/x86/events/rapl.c. */
#include "unit.h"
#include "base/error.h"
#include "kernel/sys/power_pmu.h"

TEST(scales)
{
    static const struct {
        const char *text;
        double value;
    } good[] = {{"2.3283064365386962890625e-10", 1.0 / 4294967296.0},
                {"1e-9", 1e-9},
                {"0.5", 0.5},
                {"3", 3},
                {"1.5E+2", 150}},
      bad[] = {{"", 0}, {".", 0}, {"e-9", 0}, {"1e", 0}, {"1e-", 0}, {"1e-99", 0}, {"-1", 0}, {"1 ", 0}, {"0x1", 0}};
    for (size_t i = 0; i < sizeof(good) / sizeof(*good); i++) {
        double v = -1, off;
        assert_int_equal(power_scale_parse(span_str(good[i].text), &v), 0);
        off = v / good[i].value - 1;
        assert_true(off < 1e-12 && off > -1e-12);
    }
    for (size_t i = 0; i < sizeof(bad) / sizeof(*bad); i++) {
        double v = -1;
        assert_int_equal(power_scale_parse(span_str(bad[i].text), &v), BARO_E_SYNTAX);
        assert_true(v == -1);
    }
}

TEST(events)
{
    static const char *const bad[] = {
        "", "event=", "event=0x", "event=2", "event=0xg", "umask=0x1", "event=0x11111111111111111"};
    uint64_t v = 7;
    assert_gives(power_event_parse(span_str("event=0x02"), &v), v, 2);
    assert_gives(power_event_parse(span_str("event=0xfF"), &v), v, 255);
    for (size_t i = 0; i < sizeof(bad) / sizeof(*bad); i++)
        assert_int_equal(power_event_parse(span_str(bad[i]), &v), BARO_E_SYNTAX);
    assert_int_equal(v, 255);
}
