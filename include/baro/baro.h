/* SPDX-License-Identifier: Apache-2.0 */
/**
 * @file
 * libbaro: reading what barograph recorded.
 *
 * Rules that hold everywhere: the library never prints, exits, aborts or installs a signal handler; it has no mutable
 * globals, so that any number of cursors can live in one program; an object belongs to one thread at a time. Text that
 * came from the kernel or a tape is bytes: it may hold anything but NUL;
 * baro/text.h makes it harmless.
 */
#ifndef BARO_BARO_H
#define BARO_BARO_H

#include "baro/arrow.h"
#include "baro/attribute.h"
#include "baro/columns.h"
#include "baro/error.h"
#include "baro/event.h"
#include "baro/header.h"
#include "baro/interval.h"
#include "baro/metric.h"
#include "baro/runs.h"
#include "baro/sample.h"
#include "baro/series.h"
#include "baro/summary.h"
#include "baro/tape.h"
#include "baro/text.h"
#include "baro/timeline.h"
#include "baro/verdict.h"
#include "baro/version.h"

#endif
