/* SPDX-License-Identifier: Apache-2.0 */
#ifndef BASE_ERROR_H
#define BASE_ERROR_H

#include "baro/error.h"

/* Fills *err (which may be NULL) with a formatted line and returns code, so that callers can say
 * `return error_set(err, -errno, "can't open %s: %s", path, strerror(errno))`. Control bytes in the text are escaped.
 */
__attribute__((format(printf, 3, 4))) int error_set(struct baro_error *err, int code, const char *format, ...);
/* The same, with the text of another error behind it, which is escaped already. */
__attribute__((format(printf, 4, 5))) int error_wrap(struct baro_error *err, int code, const struct baro_error *of,
                                                     const char *format, ...);

#endif
