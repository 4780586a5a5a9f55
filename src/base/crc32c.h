/* SPDX-License-Identifier: Apache-2.0 */
#ifndef BASE_CRC32C_H
#define BASE_CRC32C_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* CRC-32C (Castagnoli), as iSCSI, ext4 and btrfs use it. Start with 0; the result of one piece is the start of the
 * next. */
uint32_t crc32c(uint32_t crc, const void *at, size_t len);

/* The same, thirty times as fast, on a processor that has an instruction for it. To be asked for once: in a virtual
 * machine that takes some microseconds. */
bool crc32c_has_instruction(void);
uint32_t crc32c_by_instruction(uint32_t crc, const void *at, size_t len);

#endif
