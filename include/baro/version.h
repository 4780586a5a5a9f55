/* SPDX-License-Identifier: Apache-2.0 */
#ifndef BARO_VERSION_H
#define BARO_VERSION_H

#include "baro/error.h"

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
