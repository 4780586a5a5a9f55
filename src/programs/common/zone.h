/* SPDX-License-Identifier: Apache-2.0 */
/* The local time zone. What people read has local time with its offset; what programs read has UTC. */
#ifndef PROGRAMS_COMMON_ZONE_H
#define PROGRAMS_COMMON_ZONE_H

#include <stdint.h>

/* Called before localtime_r() and mktime(). */
void zone_init(void);

/* Seconds east of UTC at that time; 0 if that is not known. */
long zone_east(int64_t realtime_ns);

#endif
