/* SPDX-License-Identifier: Apache-2.0 */
#include "programs/common/zone.h"

#include <stdbool.h>
#include <time.h>

#include "base/clock.h"

void zone_init(void)
{
    tzset(); /* localtime_r() need not call it */
}

long zone_east(int64_t realtime_ns)
{
    const int64_t second = (int64_t)NS_PER_SEC;
    time_t when = (time_t)(realtime_ns / second - (realtime_ns % second < 0));
    struct tm t;
    static bool is_set; /* tzset() reads /etc/localtime's attributes each time: a list has a time for each tape */
    if (!is_set)
        zone_init();
    is_set = true;
    return localtime_r(&when, &t) ? t.tm_gmtoff : 0;
}
