#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# tools/make-workload.sh FOLDER [FILES]: writes a small C project into FOLDER, to be built with `make -C FOLDER -j`.
# FILES sources (default 200) that compile in some 30 ms each, one that takes a second and a hundred megabytes, and a
# check for functions that starts many processes of a millisecond, as a configure script does.
set -eu
folder=$1
files=${2:-200}
mkdir -p "$folder"
cd "$folder"

i=0
objects=
while [ "$i" -lt "$files" ]; do
    cat >"part$i.c" <<END
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
struct item$i { int key; char name[16]; struct item$i *next; };
static int compare$i(const void *a, const void *b) { return ((const struct item$i *)a)->key - ((const struct item$i *)b)->key; }
int part$i(int n)
{
    struct item$i *items = calloc((size_t)n, sizeof *items);
    int sum = 0;
    for (int i = 0; items && i < n; i++) {
        items[i].key = (i * 7919 + $i) % 1009;
        snprintf(items[i].name, sizeof items[i].name, "%d", items[i].key);
    }
    if (items)
        qsort(items, (size_t)n, sizeof *items, compare$i);
    for (int i = 0; items && i < n; i++)
        sum += (int)strlen(items[i].name) * items[i].key;
    free(items);
    return sum;
}
END
    objects="$objects part$i.o"
    i=$((i + 1))
done

awk -v n=1200 'BEGIN {
    for (i = 0; i < n; i++)
        printf "int big%d(int a, int b) { for (int i = 0; i < a; i++) { switch ((b ^ i) & 7) { case 0: b += a * %d; break; " \
            "case 1: b ^= i << %d; break; case 2: b -= a %% %d; break; default: b += i; } } return b; }\n", i, i, i % 13, i + 2
}' >big.c

{
    i=0
    while [ "$i" -lt "$files" ]; do
        echo "int part$i(int);"
        i=$((i + 1))
    done
    printf '%s\n' '#include <stdio.h>' 'int main(void) { unsigned sum = 0;'
    i=0
    while [ "$i" -lt "$files" ]; do
        echo "sum += (unsigned)part$i(100);"
        i=$((i + 1))
    done
    printf '%s\n' 'printf("%u\n", sum); return 0; }'
} >main.c

cat >probe.sh <<'END'
#!/bin/sh
# Tests for functions with the compiler, and runs many small tools: processes of a millisecond.
for function in strlcpy reallocarray memfd_create pidfd_open getrandom; do
    if echo "char $function(void); int main(void) { return $function(); }" | ${CC:-gcc} -x c - -o probe.out 2>/dev/null
    then echo "$function: yes"
    else echo "$function: no"
    fi
done
i=0
while [ "$i" -lt 200 ]; do
    expr "$i" + 1 >/dev/null
    i=$((i + 1))
done
END
chmod +x probe.sh

cat >Makefile <<END
CC = gcc
CFLAGS = -O1
all: program
program: main.o big.o$objects
	@\$(CC) -o \$@ \$^
	@./program
config.log:
	@./probe.sh >\$@
%.o: %.c config.log
	@\$(CC) \$(CFLAGS) -c -o \$@ \$<
END
