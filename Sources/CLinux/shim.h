#pragma once
/* What Swift's own module of the system's library leaves out. */
#include <asm/unistd.h>
#include <linux/stat.h>
#include <sys/xattr.h>
/* Only with _GNU_SOURCE in <unistd.h>: makes everything of the file system that a descriptor is in durable. */
int syncfs(int descriptor);

/* <unistd.h> and <fcntl.h> belong to Swift's own module. */
long syscall(long number, ...);
enum { sl_from_current_folder = -100, sl_without_asking = 0x4000, sl_without_following = 0x100 };

/* Takes room on the disk for a part of a file, whose content stays as it is: zeros, where nothing was written.
   Where the file system cannot, nothing is done in its place. Returns 0, or -1 with errno. */
static inline int sl_reserve(int descriptor, long long offset, long long length) {
  return (int)syscall(__NR_fallocate, descriptor, 0, offset, length);
}

/* Makes a part of a file a hole, which is zeros; its length stays. Not every file system can. Returns 0, or -1 with errno. */
static inline int sl_punch(int descriptor, long long offset, long long length) {
  enum { keep_size = 1, punch_hole = 2 };
  return (int)syscall(__NR_fallocate, descriptor, keep_size | punch_hole, offset, length);
}

/* Makes a pipe with flags of open(2); pipe2 is only there with _GNU_SOURCE. Returns 0, or -1 with errno. */
static inline int sl_pipe(int *ends, int flags) {
  return (int)syscall(__NR_pipe2, ends, flags);
}

/* How many bytes a pipe surely takes at once that takes any: all it holds when nothing is in it, else a page. 0 for what is
   no pipe. FIONREAD and F_GETPIPE_SZ: their headers belong to Swift's own module, or want _GNU_SOURCE. */
static inline long sl_pipe_room(int descriptor) {
  enum { unread_bytes = 0x541B, size_of_pipe = 1032 };
  int unread = 0;
  long size = syscall(__NR_fcntl, descriptor, size_of_pipe);
  if (size <= 0) return 0;
  return syscall(__NR_ioctl, descriptor, unread_bytes, &unread) == 0 && unread == 0 ? size : 4096;
}

/* What is known here of the file that a path leads to, without asking a file server, which may be away for ever.
   Returns 0, or -1 with errno. */
static inline int sl_known_file(const char *path, unsigned *mode, unsigned *major, unsigned *minor,
                                unsigned long long *inode) {
  struct statx found;
  if (syscall(__NR_statx, sl_from_current_folder, path, sl_without_asking, STATX_TYPE | STATX_INO, &found) != 0) return -1;
  *mode = found.stx_mode;
  *major = found.stx_dev_major;
  *minor = found.stx_dev_minor;
  *inode = found.stx_ino;
  return 0;
}

/* When what stands under a name of a folder was made. A link is not followed. Returns 0, or -1 where that is not known. */
static inline int sl_born(int folder, const char *name, long long *seconds, unsigned *nanoseconds) {
  struct statx found;
  if (syscall(__NR_statx, folder, name, sl_without_following, STATX_BTIME, &found) != 0) return -1;
  if ((found.stx_mask & STATX_BTIME) == 0) return -1;
  *seconds = found.stx_btime.tv_sec;
  *nanoseconds = found.stx_btime.tv_nsec;
  return 0;
}
