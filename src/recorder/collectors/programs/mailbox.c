/* SPDX-License-Identifier: Apache-2.0 */
#include "recorder/collectors/programs/program_shared.h"

/* The index comes from another process, so it may be anything. */
static uint32_t swap(struct mailbox *m, uint32_t word)
{
    return atomic_exchange_explicit(&m->middle, word, memory_order_acq_rel) % MAILBOX_FRESH % 3;
}

uint32_t mailbox_put(struct mailbox *m, uint32_t slot)
{
    return swap(m, slot | MAILBOX_FRESH);
}

uint32_t mailbox_take(struct mailbox *m, uint32_t slot, bool *ret_fresh)
{
    *ret_fresh = atomic_load_explicit(&m->middle, memory_order_acquire) & MAILBOX_FRESH;
    return *ret_fresh ? swap(m, slot) : slot;
}
