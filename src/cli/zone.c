/* SPDX-License-Identifier: Apache-2.0 */
#include "cli/zone.h"

#include <stdio.h>
#include <stdlib.h>
#include <time.h>
#include <unistd.h>

#include "base/clock.h"

/*
 * TZ=EST5EDT names a file of the zone's history, to glibc and to date(1); it is a rule as well, without a history, and
 * musl takes it for that. With a colon it can only be a file.
 */
static void set_file(void)
{
    const char *zone = getenv("TZ"), *dir = getenv("TZDIR");
    char path[512];
    if (!zone || !*zone || *zone == ':' || *zone == '/')
        return;
    int n = snprintf(path, sizeof(path), ":%s/%s", dir && *dir ? dir : "/usr/share/zoneinfo", zone);
    if (n > 0 && (size_t)n < sizeof(path) && access(path + 1, R_OK) == 0)
        setenv("TZ", path, 1);
}

void zone_init(void)
{
    set_file();
    tzset(); /* which localtime_r() need not do */
}

long zone_east(int64_t realtime_ns)
{
    const int64_t second = (int64_t)NS_PER_SEC;
    time_t when = (time_t)(realtime_ns / second - (realtime_ns % second < 0));
    struct tm t;
    zone_init();
    return localtime_r(&when, &t) ? t.tm_gmtoff : 0;
}
