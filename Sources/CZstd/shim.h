#pragma once
#include <zstd.h>
#include <zstd_errors.h>
#include <string.h>

/* Whether two frames of one length hold the same: Swift has nothing like it without Foundation or the system's module. */
static inline int sl_are_same(const void *one, const void *other, size_t length) {
  return memcmp(one, other, length) == 0;
}
