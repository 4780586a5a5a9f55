/* SPDX-License-Identifier: Apache-2.0 */
#ifndef BASE_CRC32C_H
#define BASE_CRC32C_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* CRC-32C (Castagnoli), as used by iSCSI, ext4 and btrfs. Start with 0; to continue, pass the result of the previous
 * piece. */
uint32_t crc32c(uint32_t crc, const void *at, size_t len);

/* crc32c_by_instruction() computes the same with the processor's CRC instruction, thirty times as fast; only where
 * crc32c_has_instruction() returns true. Call that once and keep the result: in a virtual machine the check takes
 * some microseconds. */
bool crc32c_has_instruction(void);
uint32_t crc32c_by_instruction(uint32_t crc, const void *at, size_t len);

#endif
