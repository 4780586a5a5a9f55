/* SPDX-License-Identifier: Apache-2.0 */
/* The fixed numbers of the format; FORMAT.md says what they mean. */
#ifndef LIBBARO_TAPE_FORMAT_H
#define LIBBARO_TAPE_FORMAT_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* The first byte is not ASCII, so a text file cannot look like a tape. Both kinds of line ends show whether a transfer
 * has changed line ends. */
#define TAPE_MAGIC "\211BARO\r\n\n"
#define TAPE_MAGIC_BEFORE "\211BARO\r\n\032" /* in tapes written before version 1 was final */
#define TAPE_MAGIC_SIZE 8
#define TAPE_PREAMBLE_SIZE 24
#define TAPE_FORMAT 2 /* the format that this library writes */
#define TAPE_NEEDS 1  /* the oldest reader that understands it */

#define FRAME_SYNC "\xb2\xe5\x9a\x0d"
#define FRAME_SYNC_SIZE 4
#define FRAME_HEAD_SIZE 14
#define FRAME_PAYLOAD_MAX (64u << 20)

#define TAPE_END_MARK "BAROEND\n"
#define TAPE_END_MARK_SIZE 8
#define TAPE_END_SIZE 12 /* length of the footer's frame, end mark */

/* Limits on the work of a reader. A zstd block is no longer than the window and takes at least 4 bytes, so a tape
 * decompresses to at most 4096 times its size. The size of a frame is limited for memory, that of a block for seeking.
 */
#define TAPE_WINDOW_LOG 14
#define FRAME_RAW_MAX (64u << 20)
#define BLOCK_RAW_MAX (128u << 20)

/* The largest size of a frame with rows of declared kinds. A reading that would exceed it is left out, so that the
 * sample itself is written. */
#define FRAME_ENTITIES_MAX (32u << 20)

enum frame_type {
    FRAME_HEADER = 1,
    FRAME_SCHEMA = 2,
    FRAME_BLOCK = 3,
    FRAME_TICK = 4,
    FRAME_FOOTER = 5,
};

enum record_tag {
    RECORD_SAMPLE = 1,
    RECORD_ROWS = 2,
    RECORD_EXIT = 3,
    RECORD_EVENT = 4,
    RECORD_MACHINE = 5,
    RECORD_LIMITS = 6,
    RECORD_DECLARE = 7,
    RECORD_ENTITIES = 8,
    RECORD_CLOCK = 9,
};

struct frame_head {
    uint8_t type;
    uint8_t seq;  /* 0 in a block's first frame, then one more each, modulo 256 */
    uint32_t len; /* length of the payload */
    uint32_t crc;
};

/* The seed of all CRCs of a tape, from a random number in the preamble. Because of it, bytes that a recorded process
 * chose (its command line) cannot look like a frame when a reader searches for the next good one. */
struct frame_seed {
    uint32_t crc;
    bool by_instruction;
};
struct frame_seed frame_seed(const uint8_t nonce[8]);

/* at: room for the head, followed by len bytes of payload. Fills the head. */
void frame_seal(uint8_t *at, enum frame_type type, uint8_t seq, uint32_t len, struct frame_seed seed);

/* Returns false if there is no sync mark or the length is impossible. at: FRAME_HEAD_SIZE bytes. */
bool frame_head_parse(const uint8_t *at, struct frame_head *ret);
bool frame_good(const uint8_t *at, const struct frame_head *head, struct frame_seed seed);

void tape_preamble(uint8_t ret[TAPE_PREAMBLE_SIZE], const uint8_t nonce[8]);

#endif
