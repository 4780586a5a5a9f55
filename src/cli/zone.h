/* SPDX-License-Identifier: Apache-2.0 */
/* The local time zone. What people read has local time with its offset; what programs read has UTC. */
#ifndef CLI_ZONE_H
#define CLI_ZONE_H

#include <stdint.h>

/* Called before localtime_r() and mktime(): what TZ names is looked up as date(1) does. Not in a process that is to
 * execute a command: it changes TZ. */
void zone_init(void);

/* Seconds east of UTC at that time; 0 where that is not known. */
long zone_east(int64_t realtime_ns);

#endif
