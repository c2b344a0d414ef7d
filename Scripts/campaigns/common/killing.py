#!/usr/bin/env python3
"""Kills a command as it is about to make a system call about the desk's files, or the network, for the k-th time.

strace can do that too, but stops the command at every call of every kind: seconds for a push of some megabytes. Here the kernel
stops it at the calls of one kind only (seccomp's RET_TRACE), and the call at which it dies is not made.
"""
import os, shutil, subprocess, sys

from common.traced import NETWORK

SOURCE = r"""
#define _GNU_SOURCE
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <linux/filter.h>
#include <linux/seccomp.h>
#include <signal.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/ptrace.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

/* What a call is about: an open file, a name relative to one, a name, or nothing that could be told. */
enum about { FILE_OPEN, NAME_AT, NAME, NOTHING };

static const struct { const char *name; int number; enum about about; } calls[] = {
  CALLS
};

struct count { struct count *next; long count; char text[]; };

static long seen(const char *text) {
  static struct count *buckets[4096];
  unsigned hash = 5381;
  for (const char *c = text; *c; c++) hash = hash * 33 + (unsigned char)*c;
  struct count **place = &buckets[hash % 4096];
  while (*place && strcmp((*place)->text, text)) place = &(*place)->next;
  if (!*place) {
    if (!(*place = calloc(1, sizeof **place + strlen(text) + 1))) exit(125);
    strcpy((*place)->text, text);
  }
  return ++(*place)->count;
}

/* Appends the name of an open file of the thread; the current folder for AT_FDCWD. */
static void tell_file(pid_t thread, int file, char *text) {
  char link[64], name[PATH_MAX];
  if (file == AT_FDCWD) snprintf(link, sizeof link, "/proc/%d/cwd", thread);
  else snprintf(link, sizeof link, "/proc/%d/fd/%d", thread, file);
  ssize_t length = readlink(link, name, sizeof name - 1);
  name[length < 0 ? 0 : length] = 0;
  strncat(text, name, PATH_MAX);
}

static void tell_name(pid_t thread, unsigned long place, char *text) {
  char path[64], name[PATH_MAX];
  snprintf(path, sizeof path, "/proc/%d/mem", thread);
  int memory = open(path, O_RDONLY | O_CLOEXEC);
  size_t length = 0;
  while (length < sizeof name - 1) {
    size_t some = 64 - (place + length) % 64;
    if (some > sizeof name - 1 - length) some = sizeof name - 1 - length;
    if (pread(memory, name + length, some, (off_t)(place + length)) != (ssize_t)some) break;
    size_t ends = strnlen(name + length, some);
    length += ends;
    if (ends < some) break;
  }
  close(memory);
  name[length] = 0;
  strncat(text, name, PATH_MAX);
}

/* Names without what differs from run to run: the folder, digits, and long runs of hexadecimal ones. */
static void settle(char *text, const char *folder) {
  size_t length = strlen(folder);
  for (char *found; length && (found = strstr(text, folder));) {
    *found = 'F';
    memmove(found + 1, found + length, strlen(found + length) + 1);
  }
  char *to = text;
  for (const char *from = text; *from;) {
    size_t hex = strspn(from, "0123456789abcdef"), digits = strspn(from, "0123456789");
    size_t run = hex >= 8 ? hex : digits;
    if (run) *to++ = 'N', from += run;
    else *to++ = *from++;
  }
  *to = 0;
}

static void tell(pid_t thread, enum about about, const uint64_t *arguments, char *text) {
  text[0] = 0;
  if (about == FILE_OPEN || about == NAME_AT) tell_file(thread, (int)arguments[0], text);
  if (about == NAME_AT) strcat(text, " "), tell_name(thread, arguments[1], text);
  if (about == NAME) tell_name(thread, arguments[0], text);
}

static void begin(int number, char **command) {
  struct sock_filter filter[] = {
    BPF_STMT(BPF_LD | BPF_W | BPF_ABS, offsetof(struct seccomp_data, nr)),
    BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, (__u32)number, 0, 1),
    BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_TRACE),
    BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ALLOW),
  };
  struct sock_fprog program = {sizeof filter / sizeof *filter, filter};
  if (ptrace(PTRACE_TRACEME, 0, 0, 0) || raise(SIGSTOP) || prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) ||
      prctl(PR_SET_SECCOMP, SECCOMP_MODE_FILTER, &program)) _exit(125);
  execvp(command[0], command);
  _exit(127);
}

int main(int count, char **words) {
  (void)count;
  const char *name = words[1], *log = words[3], *folder = words[4];
  long left = atol(words[2]);
  int which = 0, status;
  while (strcmp(calls[which].name, name)) which++;
  pid_t command = fork();
  if (command < 0) return 125;
  if (command == 0) begin(calls[which].number, words + 5);
  if (waitpid(command, &status, 0) != command || !WIFSTOPPED(status)) return 125;
  long options = PTRACE_O_TRACESECCOMP | PTRACE_O_TRACECLONE | PTRACE_O_TRACEFORK | PTRACE_O_TRACEVFORK | PTRACE_O_EXITKILL;
  if (ptrace(PTRACE_SETOPTIONS, command, 0, options) || ptrace(PTRACE_CONT, command, 0, 0)) return 125;
  static char text[3 * PATH_MAX];
  int ended = 125 << 8;
  for (pid_t thread; (thread = waitpid(-1, &status, __WALL)) > 0;) {
    if (!WIFSTOPPED(status)) {
      if (thread == command) ended = status;
      continue;
    }
    int signal = WSTOPSIG(status), event = status >> 16;
    if (event == PTRACE_EVENT_SECCOMP) {
      struct __ptrace_syscall_info info;
      memset(&info, 0, sizeof info);
      if (ptrace(PTRACE_GET_SYSCALL_INFO, thread, sizeof info, &info) > 0) {
        tell(thread, calls[which].about, info.seccomp.args, text);
        /* What the loader does, or the C library of its own accord, is no part of the command. */
        int counts = strstr(text, folder) != NULL;
        settle(text, folder);
        long same = seen(text);
        if (counts && --left == 0) {
          FILE *file = fopen(log, "w");
          if (!file || fprintf(file, "%ld %s\n", same, text) < 0 || fclose(file)) return 125;
          kill(command, SIGKILL);
        }
      }
    }
    /* A new thread begins with a stop of its own; other signals are the command's. */
    int passed = event || signal == SIGTRAP || signal == SIGSTOP ? 0 : signal;
    ptrace(PTRACE_CONT, thread, 0, passed);
  }
  if (WIFSIGNALED(ended)) raise(WTERMSIG(ended));
  return WEXITSTATUS(ended);
}
"""
OPEN = "read pread64 write pwrite64 fsync fdatasync ftruncate flock close fstat lseek getdents64 fcntl sendto sendmsg recvfrom recvmsg connect".split()
AT = "openat renameat renameat2 linkat unlinkat mkdirat newfstatat".split()
NAMED = "rename link unlink mkdir".split()
SILENT = "socket poll epoll_wait".split()


def build(folder):
    """The program, made by the compiler that comes with Swift, or any other."""
    compiler = shutil.which("clang") or shutil.which("cc") or sys.exit("kill-points: there is no C compiler")
    kinds = {"FILE_OPEN": OPEN, "NAME_AT": AT, "NAME": NAMED, "NOTHING": SILENT}
    # Not every processor has the older calls.
    lines = [f'#ifdef SYS_{name}\n{{"{name}", SYS_{name}, {about}}},\n#endif' for about, names in kinds.items() for name in names]
    subprocess.run([compiler, "-O1", "-x", "c", "-", "-o", f"{folder}/kill-at"], input=SOURCE.replace("CALLS\n", "\n".join(lines) + "\n", 1),
                   text=True, check=True)
    return f"{folder}/kill-at"


def kill(killer, desk, arguments, point):
    """Runs `arguments`, which die at a point (call, k) if they come to it. Of calls to the network all count.

    Returns the result, and what they died at: (name, about what, which of these), or None when they lived.
    """
    log = f"{desk.folder}/killed"
    folder = "" if point[0] in NETWORK else desk.folder
    result = desk.run(*arguments, prefix=[killer, point[0], str(point[1]), log, folder])
    if not os.path.exists(log):
        return result, None
    with open(log, errors="replace") as file:
        which, _, about = file.read().rstrip("\n").partition(" ")
    os.unlink(log)
    return result, (point[0], about, int(which))
