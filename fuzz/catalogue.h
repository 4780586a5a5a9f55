/* SPDX-License-Identifier: Apache-2.0 */
/* Calls of baro/runs.h over a folder of runs with any bytes in them. */
#ifndef FUZZ_CATALOGUE_H
#define FUZZ_CATALOGUE_H

#include <stddef.h>
#include <stdint.h>

/* Makes four runs of the bytes: whole, cut in half, without the beginning, empty. n chooses the calls. The folder is in
 * $TMPDIR or /tmp, one for each process, which removes it when it ends. The sum is of no use but that all was read. */
uint64_t catalogue_calls(const uint8_t *bytes, size_t size, unsigned n);

#endif
