#pragma once
#include <sqlite3.h>

/* What Swift cannot import: variadic functions, and macros that cast. */
static inline int sl_db_config_int(sqlite3 *db, int op, int value, int *now) {
  return sqlite3_db_config(db, op, value, now);
}
static inline sqlite3_destructor_type sl_transient(void) { return SQLITE_TRANSIENT; }
