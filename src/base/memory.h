/* SPDX-License-Identifier: Apache-2.0 */
/* Memory of this process. */
#ifndef BASE_MEMORY_H
#define BASE_MEMORY_H

/* Gives back what a beginning needed and what follows does not: free heap, and pages of code, which come back from the
 * page cache as they are used. */
void memory_give_back(void);

#endif
