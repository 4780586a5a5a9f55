#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# tools/docs.sh FOLDER: writes the tables in docs/metrics.md and docs/json.md from the tables of the baro in FOLDER,
# and what the Python package has of libbaro's headers.
# Manual pages and completion are made by the build, in FOLDER/docs.
set -eu
cd "$(dirname -- "$0")/.."
tools/make-docs "$1/baro" pages
python3 python/tools/make_abi.py
echo "docs/metrics.md, docs/json.md; $1/docs/baro.1, ... (man -l $1/docs/baro-run.1)"
