/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Only in the archive for any Linux (-Dreaders=static): baro-gpu is its one program that needs the system's libc, which
 * may be older than the one that it is linked with. glibc 2.34 gave the symbols below new versions, so a program that
 * is linked with it does not start with an older glibc. Here the symbols are bound to their versions of 1997 (aarch64:
 * 2012), which each glibc has.
 */
#include <dlfcn.h>
#include <fcntl.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

#ifdef __aarch64__
#define OLD "GLIBC_2.17"
#else
#define OLD "GLIBC_2.2.5"
#endif

/* Else the dynamic linker would find these in place of those of libc. */
#define HIDDEN __attribute__((visibility("hidden")))

typedef int main_function(int argc, char **argv, char **envp);
typedef void hook(void);

/* clang-format off */
__asm__(".symver old_start, __libc_start_main@" OLD);
__asm__(".symver old_dlopen, dlopen@" OLD);
__asm__(".symver old_dlsym, dlsym@" OLD);
__asm__(".symver old_dlerror, dlerror@" OLD);
/* clang-format on */
int old_start(main_function *main, int argc, char **argv, hook *init, hook *fini, hook *rtld_fini, void *stack_end);
void *old_dlopen(const char *name, int flags);
void *old_dlsym(void *handle, const char *name);
char *old_dlerror(void);

/* crt1.o calls it. The old one leaves it to init to run constructors, of which this program has none. */
HIDDEN int __libc_start_main(main_function *main, int argc, char **argv, hook *init, hook *fini, hook *rtld_fini,
                             void *stack_end);
int __libc_start_main(main_function *main, int argc, char **argv, hook *init, hook *fini, hook *rtld_fini,
                      void *stack_end)
{
    return old_start(main, argc, argv, init, fini, rtld_fini, stack_end);
}

HIDDEN void *dlopen(const char *name, int flags)
{
    return old_dlopen(name, flags);
}

HIDDEN void *dlsym(void *handle, const char *name)
{
    return old_dlsym(handle, name);
}

HIDDEN char *dlerror(void)
{
    return old_dlerror();
}

/* Where _FILE_OFFSET_BITS is 64, these are stat64() and fstat64(); the kernel fills the same struct. */
HIDDEN int stat(const char *path, struct stat *ret)
{
    return (int)syscall(SYS_newfstatat, AT_FDCWD, path, ret, 0);
}

HIDDEN int fstat(int fd, struct stat *ret)
{
    return (int)syscall(SYS_fstat, fd, ret);
}
