/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A command line as people read it: the program without its folder, and the subject, which tells the command from
 * others of the same program. All text comes from the tape: raw bytes, which the caller escapes.
 *
 *     /root/.rustup/toolchains/stable/bin/rustc --crate-name ignore ... src/lib.rs    program rustc, subject "ignore"
 *     /usr/bin/gcc -O2 -Iinclude -c src/page/plot.c -o plot.o                         gcc, "src/page/plot.c"
 *     /usr/libexec/gcc/collect2 -plugin ... -o prog main.o                            collect2, "prog"
 *     python3 train.py --lr 0.1                                                       python3, "train.py --lr 0.1"
 *     python3 -m pytest -q                                                            python3, "pytest -q"
 *     'postgres: checkpointer '                                                       postgres:, rest " checkpointer"
 */
#ifndef BASE_COMMAND_LINE_H
#define BASE_COMMAND_LINE_H

#include "base/buf.h"
#include "base/span.h"

struct command_line {
    struct span program; /* without its folder */
    struct span rest;    /* all behind the program, with the blank before it */
    struct span subject; /* the part of `rest` that the command works on; at == NULL: none was found */
    bool is_path;        /* the subject is a file of which the last component says enough */
};

/* Reads len bytes at most. */
void command_line_read(const char *text, size_t len, struct command_line *ret);

/* Returns the subject in a few words: the last component if it is a path; the rest of the line if there is no
 * subject. It has at most `most` bytes and only whole characters, and is borrowed from the line. It is empty if the
 * line has only a program. */
struct span command_line_label(const struct command_line *c, size_t most);

/* Returns how many bytes at the beginning of rest to leave out so that the subject fits into this many columns; 0:
 * none. */
size_t command_line_skip(const struct command_line *c, size_t columns);

#endif
