#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# tools/docs.sh FOLDER: writes docs/metrics.md, and the members in docs/json.md, from the tables of the baro in FOLDER,
# and what the Python package has of libbaro's headers.
# Manual pages and completion are made by the build, in FOLDER/docs.
set -eu
cd "$(dirname -- "$0")/.."
"$1/baro" docs metrics >"$1/metrics.md"
cp "$1/metrics.md" docs/metrics.md
"$1/baro" docs json >"$1/members.md"
sed -e "/^<!-- members -->\$/r $1/members.md" -e '/^<!-- members -->$/,/^<!-- \/members -->$/{/^<!--/!d}' docs/json.md >"$1/json.md"
cp "$1/json.md" docs/json.md
python3 python/tools/make_abi.py
echo "docs/metrics.md, docs/json.md; $1/docs/baro.1, ... (man -l $1/docs/baro-run.1)"
