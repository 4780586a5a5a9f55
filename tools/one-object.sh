#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# tools/one-object.sh ARCHIVE OUTPUT OBJCOPY AR COMPILER [ARGUMENT...]: makes of a static library another one with one
# object, in which hidden symbols are local. A program that links it can have a function map_add() of its own.
set -eu
archive=$1
output=$2
objcopy=$3
ar=$4
shift 4
object=${output%.a}.o
"$@" -r -nostdlib -o "$object" -Wl,--whole-archive "$archive" -Wl,--no-whole-archive
"$objcopy" --localize-hidden "$object"
rm -f "$output"
"$ar" rcsD "$output" "$object"
rm -f "$object"
