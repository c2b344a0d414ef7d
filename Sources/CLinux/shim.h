#pragma once
/* What Swift's own module of the system's library leaves out. */
#include <sys/vfs.h>
#include <sys/xattr.h>
