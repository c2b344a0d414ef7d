#!/usr/bin/env python3
"""Memory that one C library of a program does not get, by its return address (LD_PRELOAD).

SCARCE_LIBRARY is a part of the library's file name, SCARCE_NUMBER the allocation that fails (0: none), SCARCE_ON how many
after it fail as well; SCARCE_REPORT a file of two 8-byte numbers that are counted up: allocations made by the library, and failed.
"""
import shutil, subprocess, sys

SOURCE = r"""
#define _GNU_SOURCE
#include <errno.h>
#include <fcntl.h>
#include <link.h>
#include <stdatomic.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

extern void *__libc_malloc(size_t);
extern void *__libc_calloc(size_t, size_t);
extern void *__libc_realloc(void *, size_t);
extern void *__libc_memalign(size_t, size_t);

static uintptr_t from, to;
static long number, after;
static _Atomic long own[2], *report = own;

static int look(struct dl_phdr_info *info, size_t size, void *name) {
  (void)size;
  if (!strstr(info->dlpi_name, name)) return 0;
  for (int i = 0; i < info->dlpi_phnum; i++) {
    if (info->dlpi_phdr[i].p_type != PT_LOAD || !(info->dlpi_phdr[i].p_flags & PF_X)) continue;
    from = info->dlpi_addr + info->dlpi_phdr[i].p_vaddr;
    to = from + info->dlpi_phdr[i].p_memsz;
  }
  return 1;
}

__attribute__((constructor)) static void begin(void) {
  const char *library = getenv("SCARCE_LIBRARY"), *path = getenv("SCARCE_REPORT");
  if (!library || !path) return;
  int file = open(path, O_RDWR | O_CLOEXEC);
  void *place = file < 0 ? MAP_FAILED : mmap(NULL, sizeof own, PROT_READ | PROT_WRITE, MAP_SHARED, file, 0);
  if (place == MAP_FAILED) _exit(125);
  close(file);
  report = place;
  number = atol(getenv("SCARCE_NUMBER"));
  after = atol(getenv("SCARCE_ON"));
  dl_iterate_phdr(look, (void *)library);
  if (!from) _exit(125);
}

static int fails(void *caller) {
  uintptr_t at = (uintptr_t)caller;
  if (at < from || at >= to) return 0;
  long count = ++report[0];
  if (!number || count < number || count - number > after) return 0;
  report[1]++;
  errno = ENOMEM;
  return 1;
}

#define SCARCE(call) fails(__builtin_return_address(0)) ? NULL : (call)

void *malloc(size_t size) { return SCARCE(__libc_malloc(size)); }
void *calloc(size_t count, size_t size) { return SCARCE(__libc_calloc(count, size)); }
void *realloc(void *old, size_t size) { return SCARCE(__libc_realloc(old, size)); }
void *aligned_alloc(size_t alignment, size_t size) { return SCARCE(__libc_memalign(alignment, size)); }
void *memalign(size_t alignment, size_t size) { return SCARCE(__libc_memalign(alignment, size)); }

int posix_memalign(void **place, size_t alignment, size_t size) {
  void *found = SCARCE(__libc_memalign(alignment, size));
  if (!found) return ENOMEM;
  *place = found;
  return 0;
}

char *strdup(const char *text) {
  size_t size = strlen(text) + 1;
  char *copy = SCARCE(__libc_malloc(size));
  return copy ? memcpy(copy, text, size) : NULL;
}

char *strndup(const char *text, size_t most) {
  size_t length = strnlen(text, most);
  char *copy = SCARCE(__libc_malloc(length + 1));
  if (!copy) return NULL;
  copy[length] = 0;
  return memcpy(copy, text, length);
}
"""


def build(folder):
    """The library, made by the compiler that comes with Swift, or any other."""
    compiler = shutil.which("clang") or shutil.which("cc") or sys.exit("memory: there is no C compiler")
    subprocess.run([compiler, "-shared", "-fPIC", "-O1", "-x", "c", "-", "-o", f"{folder}/scarce.so"], input=SOURCE, text=True, check=True)
    return f"{folder}/scarce.so"
