/* SPDX-License-Identifier: Apache-2.0 */
#ifndef BASE_CRC32C_H
#define BASE_CRC32C_H

#include <stddef.h>
#include <stdint.h>

/* CRC-32C (Castagnoli), as iSCSI, ext4 and btrfs use it. Start with 0; the result of one piece is the start of the
 * next. */
uint32_t crc32c(uint32_t crc, const void *at, size_t len);
/* The same without the processor's help; apart so that both can be tested on any machine. */
uint32_t crc32c_portable(uint32_t crc, const void *at, size_t len);

#endif
