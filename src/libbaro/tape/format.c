/* SPDX-License-Identifier: Apache-2.0 */
#include "libbaro/tape/format.h"

#include <string.h>

#include "base/crc32c.h"
#include "libbaro/tape/little.h"

struct frame_seed frame_seed(const uint8_t nonce[8])
{
    return (struct frame_seed){crc32c(0, nonce, 8), crc32c_has_instruction()};
}

/* Computes the CRC of the head, without sync mark and CRC, and of the payload. */
static uint32_t frame_crc(const uint8_t *at, uint32_t len, struct frame_seed seed)
{
    uint32_t crc = crc32c(seed.crc, at + FRAME_SYNC_SIZE, 6);
    return seed.by_instruction ? crc32c_by_instruction(crc, at + FRAME_HEAD_SIZE, len)
                               : crc32c(crc, at + FRAME_HEAD_SIZE, len);
}

void frame_seal(uint8_t *at, enum frame_type type, uint8_t seq, uint32_t len, struct frame_seed seed)
{
    memcpy(at, FRAME_SYNC, FRAME_SYNC_SIZE);
    at[4] = (uint8_t)type;
    at[5] = seq;
    put_le32(at + 6, len);
    put_le32(at + 10, frame_crc(at, len, seed));
}

bool frame_head_parse(const uint8_t *at, struct frame_head *ret)
{
    if (memcmp(at, FRAME_SYNC, FRAME_SYNC_SIZE) != 0)
        return false;
    ret->type = at[4];
    ret->seq = at[5];
    ret->len = get_le32(at + 6);
    ret->crc = get_le32(at + 10);
    return ret->len <= FRAME_PAYLOAD_MAX;
}

bool frame_good(const uint8_t *at, const struct frame_head *head, struct frame_seed seed)
{
    return frame_crc(at, head->len, seed) == head->crc;
}

void tape_preamble(uint8_t ret[TAPE_PREAMBLE_SIZE], const uint8_t nonce[8])
{
    memcpy(ret, TAPE_MAGIC, TAPE_MAGIC_SIZE);
    put_le16(ret + 8, TAPE_FORMAT);
    put_le16(ret + 10, TAPE_NEEDS);
    memcpy(ret + 12, nonce, 8);
    put_le32(ret + 20, crc32c(0, ret, 20));
}
