/* SPDX-License-Identifier: Apache-2.0 */
#include "base/memory.h"

#include <fcntl.h>
#include <link.h>
#include <malloc.h>
#include <stdbool.h>
#include <stdint.h>
#include <sys/mman.h>
#include <unistd.h>

#include "base/fd.h"
#include "base/span.h"

/* A fault maps up to 64 KiB around what is touched (fault_around_bytes, mm/memory.c), so that a start leaves all of a
 * small program mapped. */
/* A debugger's breakpoints are private copies of pages of code, and would go with them. */
static bool is_traced(void)
{
    char text[2048];
    ssize_t n = fd_read_file(AT_FDCWD, "/proc/self/status", text, sizeof(text));
    struct span rest = span_of(text, n > 0 ? (size_t)n : 0), line;
    while (scan_line(&rest, &line)) {
        if (span_starts(line, "TracerPid:"))
            return line.at[line.len - 1] != '0' || line.at[line.len - 2] != '\t';
    }
    return true;
}

static int drop_code(struct dl_phdr_info *info, size_t size, void *context)
{
    uintptr_t page = *(const uintptr_t *)context;
    (void)size;
    for (int i = 0; i < info->dlpi_phnum; i++) {
        const ElfW(Phdr) *h = &info->dlpi_phdr[i];
        uintptr_t begin = info->dlpi_addr + h->p_vaddr, end = (begin + h->p_memsz) & ~(page - 1);
        begin = (begin + page - 1) & ~(page - 1);
        if (h->p_type == PT_LOAD && !(h->p_flags & PF_W) && begin < end)
            madvise((void *)begin, end - begin, MADV_DONTNEED);
    }
    return 1; /* the program itself comes first; what others map is theirs */
}

void memory_give_back(void)
{
    uintptr_t page = (uintptr_t)sysconf(_SC_PAGESIZE);
    malloc_trim(0);
    if (!is_traced())
        dl_iterate_phdr(drop_code, &page);
}
