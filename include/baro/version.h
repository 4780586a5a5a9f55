/* SPDX-License-Identifier: Apache-2.0 */
#ifndef BARO_VERSION_H
#define BARO_VERSION_H

#include <stdbool.h>

#include "baro/error.h"

#define BARO_VERSION "0.1.0"
#define BARO_VERSION_MAJOR 0
#define BARO_VERSION_MINOR 1
#define BARO_VERSION_PATCH 0

/** Whether the headers are of this version or a later one: for #if. */
#define BARO_VERSION_CHECK(major, minor, patch)                                                                        \
    (BARO_VERSION_MAJOR > (major) || (BARO_VERSION_MAJOR == (major) && BARO_VERSION_MINOR > (minor)) ||                \
     (BARO_VERSION_MAJOR == (major) && BARO_VERSION_MINOR == (minor) && BARO_VERSION_PATCH >= (patch)))

#ifdef __cplusplus
extern "C" {
#endif

/** @return the version of the library, e.g. "0.1.0". */
BARO_API const char *baro_version(void);
/**
 * Asks the library that the program runs with, which may be another one than it was built with.
 * @return whether it is of this version or a later one.
 */
BARO_API bool baro_version_check(int major, int minor, int patch);

#ifdef __cplusplus
}
#endif
#endif
