/* SPDX-License-Identifier: Apache-2.0 */
/**
 * @file
 * Text that is safe to print, and names of signals.
 *
 * Names of processes, command lines, names of entities and texts of events are bytes that any program of a job can
 * choose. If they are written to a terminal unchanged, they can move its cursor, change its title, or look like other
 * text. The functions here escape them. The result is one line of valid UTF-8 from which the bytes can be recovered:
 *
 * - a backslash becomes two;
 * - control characters (C0, DEL, C1), the line and paragraph separators U+2028 and U+2029, the marks, overrides and
 *   isolates that reorder text (U+061C, U+200E, U+200F, U+202A to U+202E, U+2066 to U+2069), and bytes that are not
 *   valid UTF-8 become `\xNN`, one for each byte, in lower case;
 * - all other characters are unchanged.
 *
 * Example: `a<ESC>[2J\b` becomes `a\x1b[2J\\b`; the two bytes of U+009B become `\xc2\x9b`. `baro export` escapes all
 * text in this way. JSON, CSV, HTML and shells also need their own quoting, which is applied to the escaped text.
 *
 *     char name[64];
 *     baro_text_escape(baro_row_name(row), strlen(baro_row_name(row)), name, sizeof(name));
 *     printf("%s\n", name);
 *
 * The functions are pure and may be called in any thread.
 */
#ifndef BARO_TEXT_H
#define BARO_TEXT_H

#include <stddef.h>

#include "baro/error.h"

#ifdef __cplusplus
extern "C" {
#endif

/**
 * Escapes text.
 * @param text @p len bytes; they may include NUL, which becomes `\x00`. NULL if @p len is 0.
 * @param ret room for @p size bytes, owned by the caller. It gets as many whole characters and escapes as fit, and a
 * NUL at the end. NULL if @p size is 0: only the length is computed.
 * @return the length of the whole escaped text without the NUL, at most 4 times @p len. As with
 * snprintf(3), the text in @p ret is complete if this is less than @p size.
 */
BARO_API size_t baro_text_escape(const char *text, size_t len, char *ret, size_t size);

/** Size of the buffer that baro_text_next() fills. */
#define BARO_TEXT_NEXT_SIZE 5

/**
 * Escapes the first character of a text, or its first byte if that is not part of a valid character: for programs that
 * lay out text themselves, such as a terminal of cells.
 * @param text @p len bytes.
 * @param ret gets 1 to 4 bytes and a NUL: the character, or its escape. Only an escape begins with a backslash.
 * @return how many bytes of @p text were taken: 1 to 4; 0 if @p len is 0.
 */
BARO_API size_t baro_text_next(const char *text, size_t len, char ret[BARO_TEXT_NEXT_SIZE]);

/**
 * Names a signal (signal(7)), such as `WTERMSIG(status)` of the status that baro_row_status() read.
 * @return "SIGKILL", "SIGSEGV", ...: a constant. Numbers are those of the machine that the program runs on. NULL for a
 * number without a name of its own, such as a real-time signal.
 */
BARO_API const char *baro_signal_name(int number);

#ifdef __cplusplus
}
#endif
#endif
