#pragma once
/* What Swift's own module of the system's library leaves out. */
#include <sys/xattr.h>
