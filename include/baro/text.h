/* SPDX-License-Identifier: Apache-2.0 */
/**
 * @file
 * Text for people: text of a tape that a terminal, a log or a table may be given, and names of signals.
 *
 * Names of processes, command lines, names of entities and texts of events are bytes that any program of a job could
 * choose. Written to a terminal as they are, they can move its cursor, change its title, or look like other text. The
 * functions here write them so that they are harmless, valid UTF-8, on one line, and can be turned back:
 *
 * - a backslash becomes two;
 * - control characters (C0, DEL, C1), the line and paragraph separators U+2028 and U+2029, the marks, overrides and
 *   isolates that reorder text (U+061C, U+200E, U+200F, U+202A to U+202E, U+2066 to U+2069), and bytes that are not
 *   valid UTF-8 become `\xNN`, one for each byte, in lower case;
 * - all else stays as it is.
 *
 * Example: `a<ESC>[2J\b` becomes `a\x1b[2J\\b`; the two bytes of U+009B become `\xc2\x9b`. `baro export` writes all
 * text so. JSON, CSV, HTML and shells need their own quoting besides, after this.
 *
 *     char name[64];
 *     baro_text_escape(baro_process_name(p), strlen(baro_process_name(p)), name, sizeof(name));
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
 * @param text @p len bytes, NUL among them allowed (it becomes `\x00`); NULL if @p len is 0.
 * @param ret room for @p size bytes; NULL if @p size is 0, to ask for the length alone. It gets as many whole
 * characters and escapes as fit, and a NUL at the end.
 * @return the length of all of the escaped text without the NUL, at most 4 times @p len: as from snprintf(3), all of it
 * is in @p ret where this is less than @p size.
 */
BARO_API size_t baro_text_escape(const char *text, size_t len, char *ret, size_t size);

/** Room for what baro_text_next() writes. */
#define BARO_TEXT_NEXT_SIZE 5

/**
 * Takes one character, or one byte that is part of none, off the front of a text: for programs that lay out text
 * themselves, such as a terminal of cells.
 * @param text @p len bytes, at least 1.
 * @param ret gets how it is written, 1 to 4 bytes and a NUL: the character, or an escape, which begins with a
 * backslash; a character that stays as it is never does.
 * @return how many bytes it has in @p text: 1 to 4, and 0 only if @p len is 0.
 */
BARO_API size_t baro_text_next(const char *text, size_t len, char ret[BARO_TEXT_NEXT_SIZE]);

/**
 * Names a signal, such as that by which a process ended: `WTERMSIG(status)` of baro_exit_status().
 * @return "SIGKILL", "SIGSEGV", ... by the numbers of the machine that this runs on; NULL for a number without a name
 * of its own, such as a real-time signal.
 */
BARO_API const char *baro_signal_name(int number);

#ifdef __cplusplus
}
#endif
#endif
