/* SPDX-License-Identifier: Apache-2.0 */
#ifndef RECORDER_HELPER_DETACH_H
#define RECORDER_HELPER_DETACH_H

#include <stddef.h>

/* In a fork of the recorder: closes all descriptors but these (-1: none), so that no tape, pipe or lock stays open with
 * this process; signals of a terminal are ignored, all others are at their defaults and none is blocked. */
void helper_detach(const int *kept, size_t n);

#endif
