/* SPDX-License-Identifier: Apache-2.0 */
/* Little-endian numbers at any address. */
#ifndef LIBBARO_TAPE_LITTLE_H
#define LIBBARO_TAPE_LITTLE_H

#include <stdint.h>

static inline void put_le16(uint8_t *at, uint16_t v)
{
    at[0] = (uint8_t)v;
    at[1] = (uint8_t)(v >> 8);
}

static inline void put_le32(uint8_t *at, uint32_t v)
{
    put_le16(at, (uint16_t)v);
    put_le16(at + 2, (uint16_t)(v >> 16));
}

static inline void put_le64(uint8_t *at, uint64_t v)
{
    put_le32(at, (uint32_t)v);
    put_le32(at + 4, (uint32_t)(v >> 32));
}

static inline uint16_t get_le16(const uint8_t *at)
{
    return (uint16_t)(at[0] | at[1] << 8);
}

static inline uint32_t get_le32(const uint8_t *at)
{
    return (uint32_t)get_le16(at) | (uint32_t)get_le16(at + 2) << 16;
}

static inline uint64_t get_le64(const uint8_t *at)
{
    return (uint64_t)get_le32(at) | (uint64_t)get_le32(at + 4) << 32;
}

#endif
