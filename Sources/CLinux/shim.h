#pragma once
/* What Swift's own module of the system's library leaves out. */
#include <sys/xattr.h>
/* Only with _GNU_SOURCE in <unistd.h>: makes everything of the file system that a descriptor is in durable. */
int syncfs(int descriptor);
