/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The end of a Python capsule. It is C, because a capsule may outlive all that Python code needs: a destructor that is
 * written in Python has been collected when the interpreter ends, and is called all the same.
 */
#include <stdlib.h>

#include "baro/arrow.h"

/* Of the interpreter that this library was loaded into; NULL elsewhere. */
extern void *PyCapsule_GetPointer(void *capsule, const char *name) __attribute__((weak));

void baro_arrow_capsule_free(void *capsule)
{
    struct ArrowArrayStream *stream = PyCapsule_GetPointer ? PyCapsule_GetPointer(capsule, "arrow_array_stream") : NULL;
    if (!stream)
        return;
    if (stream->release)
        stream->release(stream);
    free(stream);
}
