/* SPDX-License-Identifier: Apache-2.0 */
/* Files that embed.py makes a part of the program. */
#ifndef PROGRAMS_BARO_SERVE_EMBEDDED_H
#define PROGRAMS_BARO_SERVE_EMBEDDED_H

extern const char serve_openapi[], serve_html[], serve_css[], serve_js[], serve_shared_js[];
extern const char serve_job_html[], serve_job_js[];
extern const char serve_version[]; /* a digest of all of them */

#endif
