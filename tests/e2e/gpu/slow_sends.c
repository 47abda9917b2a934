/* Loaded into a process (LD_PRELOAD), lets its TCP sockets send no faster than the file SLOW_SENDS_FILE says, in bytes a
 * second each: as if its NIC had become slow. Without the file, as fast as they can. The file is looked at ten times a
 * second. The kernel paces (SO_MAX_PACING_RATE), so nothing of the process waits but for its bytes. */
#ifndef _GNU_SOURCE
#define _GNU_SOURCE
#endif
#include <dlfcn.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/socket.h>
#include <time.h>

enum { MAX_SOCKETS = 65536 };

static unsigned int paced[MAX_SOCKETS]; /* what it was told last; 0: nothing */

static unsigned int Wanted(void) {
  static __thread double looked_s;
  static __thread unsigned int wanted;
  struct timespec now;
  clock_gettime(CLOCK_MONOTONIC_COARSE, &now);
  const double now_s = now.tv_sec + 1e-9 * now.tv_nsec;
  if (now_s < looked_s + 0.1) return wanted;
  looked_s = now_s;
  wanted = 0;
  const char* path = getenv("SLOW_SENDS_FILE");
  FILE* file = path == NULL ? NULL : fopen(path, "r");
  if (file == NULL) return wanted;
  double rate = 0;
  if (fscanf(file, "%lf", &rate) == 1 && rate > 0) wanted = (unsigned int)rate;
  fclose(file);
  return wanted;
}

ssize_t send(int fd, const void* data, size_t size, int flags) {
  static ssize_t (*next)(int, const void*, size_t, int);
  if (next == NULL) next = (ssize_t(*)(int, const void*, size_t, int))dlsym(RTLD_NEXT, "send");
  const unsigned int wanted = Wanted();
  if (fd >= 0 && fd < MAX_SOCKETS && paced[fd] != wanted) {
    const unsigned int rate = wanted == 0 ? ~0U : wanted;
    if (setsockopt(fd, SOL_SOCKET, SO_MAX_PACING_RATE, &rate, sizeof rate) == 0) paced[fd] = wanted;
  }
  return next(fd, data, size, flags);
}
