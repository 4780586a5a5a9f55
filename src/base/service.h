/* SPDX-License-Identifier: Apache-2.0 */
#ifndef BASE_SERVICE_H
#define BASE_SERVICE_H

/* Sends a state to the service manager, if there is one: "READY=1", "STATUS=...". sd_notify(3). */
void service_notify(const char *text);

#endif
