/* SPDX-License-Identifier: Apache-2.0 */
/* Makes the checksums of a tape's front and of all its frames right, so that changed bytes get past them. */
#ifndef FUZZ_SEAL_H
#define FUZZ_SEAL_H

#include <string.h>

#include "libbaro/tape/format.h"

static inline void seal_all(uint8_t *at, size_t size)
{
    if (size < TAPE_PREAMBLE_SIZE)
        return;
    uint8_t nonce[8];
    memcpy(nonce, at + 12, sizeof nonce);
    tape_preamble(at, nonce);
    struct frame_seed seed = frame_seed(nonce);
    for (size_t i = TAPE_PREAMBLE_SIZE; i + FRAME_HEAD_SIZE <= size;) {
        struct frame_head head;
        if (!frame_head_parse(at + i, &head) || head.len > size - i - FRAME_HEAD_SIZE) {
            i++;
            continue;
        }
        frame_seal(at + i, head.type, head.seq, head.len, seed);
        i += FRAME_HEAD_SIZE + head.len;
    }
}

#endif
