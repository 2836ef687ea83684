/* A clock of the day that a test moves, for programs that are started with LD_PRELOAD.

   The file of MOVED_CLOCK holds the offset in s, as a 64-bit integer, and is mapped into memory. Only the time of day
   moves, as in reality: the monotonic clock and the kernel's own time-outs do not. */
#define _GNU_SOURCE
#include <dlfcn.h>
#include <fcntl.h>
#include <pthread.h>
#include <stdint.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <sys/time.h>
#include <threads.h>
#include <time.h>
#include <unistd.h>

#define DAYS_OF_UPTIME 1000000000 /* a time in s above this is a time of day */

static volatile int64_t *offset;
static int (*wait_until)(pthread_cond_t *, pthread_mutex_t *, const struct timespec *);
static int (*thread_wait_until)(cnd_t *, mtx_t *, const struct timespec *);

__attribute__((constructor)) static void load(void) {
    const char *path = getenv("MOVED_CLOCK");
    int file = path ? open(path, O_RDONLY | O_CLOEXEC) : -1;
    void *mapped = file < 0 ? MAP_FAILED : mmap(NULL, sizeof *offset, PROT_READ, MAP_SHARED, file, 0);
    if (file >= 0) close(file);
    if (mapped != MAP_FAILED) offset = mapped;
    *(void **)&wait_until = dlvsym(RTLD_NEXT, "pthread_cond_timedwait", "GLIBC_2.3.2");
    *(void **)&thread_wait_until = dlsym(RTLD_NEXT, "cnd_timedwait");
    if (!wait_until) *(void **)&wait_until = dlsym(RTLD_NEXT, "pthread_cond_timedwait");
}

static int64_t moved(void) { return offset ? *offset : 0; }

int clock_gettime(clockid_t clock, struct timespec *found) {
    int failed = syscall(SYS_clock_gettime, clock, found);
    if (!failed && (clock == CLOCK_REALTIME || clock == CLOCK_REALTIME_COARSE)) found->tv_sec += moved();
    return failed;
}

int gettimeofday(struct timeval *restrict found, void *restrict zone) {
    int failed = syscall(SYS_gettimeofday, found, zone);
    if (!failed && found) found->tv_sec += moved();
    return failed;
}

time_t time(time_t *found) {
    struct timespec now;
    clock_gettime(CLOCK_REALTIME, &now);
    if (found) *found = now.tv_sec;
    return now.tv_sec;
}

/* A program waits until a time of day that it has read from this clock. */
static struct timespec true_time(const struct timespec *until) {
    struct timespec found = *until;
    if (found.tv_sec > DAYS_OF_UPTIME) found.tv_sec -= moved();
    return found;
}

int pthread_cond_timedwait(pthread_cond_t *restrict condition, pthread_mutex_t *restrict mutex,
                           const struct timespec *restrict until) {
    struct timespec end = true_time(until);
    return wait_until(condition, mutex, &end);
}

int cnd_timedwait(cnd_t *restrict condition, mtx_t *restrict mutex, const struct timespec *restrict until) {
    struct timespec end = true_time(until);
    return thread_wait_until(condition, mutex, &end);
}
