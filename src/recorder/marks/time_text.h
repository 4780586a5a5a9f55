/* SPDX-License-Identifier: Apache-2.0 */
/* A moment as ISO 8601 text, as Python's isoformat() writes it. Pure. */
#ifndef RECORDER_MARKS_TIME_TEXT_H
#define RECORDER_MARKS_TIME_TEXT_H

#include <stdbool.h>
#include <stdint.h>

/* "2026-01-02T03:04:05.678+00:00", with "Z" or another zone, and with any number of decimals: ns since 1970. False: it
 * is something else. */
bool time_text_parse(const char *text, uint64_t *ret_ns);

#endif
