/* SPDX-License-Identifier: Apache-2.0 */
/**
 * @file
 * The version of libbaro.
 */
#ifndef BARO_VERSION_H
#define BARO_VERSION_H

#include <stdbool.h>

#include "baro/error.h"

/** The version of the headers. */
#define BARO_VERSION "0.1.0"
/** The first number of the version. */
#define BARO_VERSION_MAJOR 0
/** The second number of the version. */
#define BARO_VERSION_MINOR 1
/** The third number of the version. */
#define BARO_VERSION_PATCH 0

/** True if the headers are of this version or a later one: for `#if`. */
#define BARO_VERSION_CHECK(major, minor, patch)                                                                        \
    (BARO_VERSION_MAJOR > (major) || (BARO_VERSION_MAJOR == (major) && BARO_VERSION_MINOR > (minor)) ||                \
     (BARO_VERSION_MAJOR == (major) && BARO_VERSION_MINOR == (minor) && BARO_VERSION_PATCH >= (patch)))

#ifdef __cplusplus
extern "C" {
#endif

/** @return the version of the library, such as "0.1.0": a constant. May be called from any thread. */
BARO_API const char *baro_version(void);
/**
 * Checks the version of the library that the program is running with, which may not be the one that it was compiled
 * with. May be called from any thread.
 * @return whether the library is of this version or a later one.
 */
BARO_API bool baro_version_check(int major, int minor, int patch);

#ifdef __cplusplus
}
#endif
#endif
