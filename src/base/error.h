/* SPDX-License-Identifier: Apache-2.0 */
#ifndef BASE_ERROR_H
#define BASE_ERROR_H

#include "baro/error.h"

/* strerror(3). Valid until the next call. */
const char *error_text(int error);

/* Fills *err (which may be NULL) with a formatted line and returns code, so that callers can say
 * `return error_set(err, -errno, "can't open %s: %s", path, error_text(errno))`. Control bytes in the text are escaped.
 */
__attribute__((format(printf, 3, 4))) int error_set(struct baro_error *err, int code, const char *format, ...);

#endif
