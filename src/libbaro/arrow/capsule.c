/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The destructor of a Python capsule. It is in C because a capsule may outlive Python's objects: a destructor written
 * in Python would be collected when the interpreter ends, and called all the same.
 */
#include <stdlib.h>

#include "baro/arrow.h"

/* A function of the Python interpreter that loaded this library; NULL outside of Python. */
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
