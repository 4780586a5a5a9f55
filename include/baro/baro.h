/* SPDX-License-Identifier: Apache-2.0 */
/**
 * @file
 * libbaro: reading what barograph recorded.
 *
 * Rules that hold everywhere: the library never prints, exits, aborts or installs a signal handler; it has no mutable
 * globals, so that any number of cursors can live in one program; an object belongs to one thread at a time. Text that
 * came from the kernel or a tape is bytes: it may hold anything but NUL.
 */
#ifndef BARO_BARO_H
#define BARO_BARO_H

#include "baro/error.h"
#include "baro/metric.h"
#include "baro/summary.h"
#include "baro/tape.h"

#define BARO_VERSION "0.1.0"

#ifdef __cplusplus
extern "C" {
#endif

/** @return the version of the library, e.g. "0.1.0". */
BARO_API const char *baro_version(void);

#ifdef __cplusplus
}
#endif
#endif
