/* SPDX-License-Identifier: Apache-2.0 */
/* Memory of this process. */
#ifndef BASE_MEMORY_H
#define BASE_MEMORY_H

/* Returns memory to the kernel that was needed only at the start: free heap, and pages of code, which are mapped again
 * from the page cache when they are used. */
void memory_give_back(void);

#endif
