#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# tools/one-object.sh ARCHIVE OUTPUT OBJCOPY AR NM COMPILER [ARGUMENT...]: makes of a static library another one with one
# object, in which hidden symbols are local. A program that links it can have a function map_add() of its own. Fails if
# a global symbol is left that is not the library's. Example: of objects for link-time optimization `gcc -r` makes
# such ones again, of which objcopy changes nothing, unless it gets -flinker-output=nolto-rel.
set -eu
archive=$1
output=$2
objcopy=$3
ar=$4
nm=$5
shift 5
object=${output%.a}.o
"$@" -r -nostdlib -o "$object" -Wl,--whole-archive "$archive" -Wl,--no-whole-archive
"$objcopy" --localize-hidden "$object"
symbols=$("$nm" -g --defined-only "$object" | sed 's/.* //')
others=$(echo "$symbols" | grep -v '^baro_' | head -n 4 | tr '\n' ' ')
if [ -z "$symbols" ] || [ -n "$others" ]; then
    echo "$0: $output would have other global symbols than baro_*: $others" >&2
    exit 1
fi
rm -f "$output"
"$ar" rcsD "$output" "$object"
rm -f "$object"
