/* Makes the n-th system call on the files of a ledger fail. Preloaded; armed from inside by renyi_arm. */
#define _GNU_SOURCE
#include <dlfcn.h>
#include <errno.h>
#include <stddef.h>
#include <stdio.h>
#include <string.h>
#include <sys/types.h>
#include <unistd.h>

static char watched[4096];
static long countdown = -1, seen = 0;
static int error = 0, cut = 0, hit = 0;

/* path: what file names contain; n: calls before the one that fails (-1: none does); number: its errno; short_write: a write
   that writes half of what it should, once, and the next call fails. */
void renyi_arm(const char *path, long n, int number, int short_write) {
    strncpy(watched, path, sizeof watched - 1);
    countdown = n; error = number; cut = short_write; seen = 0; hit = 0;
}
long renyi_seen(void) { return seen; }
int renyi_hit(void) { return hit; }

static int is_watched(int fd) {
    char link[64], name[4096];
    if (!watched[0]) return 0;
    snprintf(link, sizeof link, "/proc/self/fd/%d", fd);
    ssize_t length = readlink(link, name, sizeof name - 1);
    if (length < 0) return 0;
    name[length] = 0;
    return strstr(name, watched) != NULL;
}
static int fails(int is_counted) {
    if (!is_counted) return 0;
    seen++;
    if (countdown < 0 || countdown-- > 0) return 0;
    hit = 1;
    return 1;
}
#define REAL(type, name, ...) ((type (*)(__VA_ARGS__))dlsym(RTLD_NEXT, name))

static ssize_t positioned(const char *name, int fd, const void *data, size_t size, off_t at) {
    if (fails(is_watched(fd))) {
        if (!cut) { errno = error; return -1; }
        cut = 0; countdown = 0;
        return REAL(ssize_t, name, int, const void *, size_t, off_t)(fd, data, size / 2, at);
    }
    return REAL(ssize_t, name, int, const void *, size_t, off_t)(fd, data, size, at);
}
ssize_t pwrite(int fd, const void *data, size_t size, off_t at) { return positioned("pwrite", fd, data, size, at); }
ssize_t pwrite64(int fd, const void *data, size_t size, off_t at) { return positioned("pwrite64", fd, data, size, at); }
ssize_t write(int fd, const void *data, size_t size) {
    if (fails(is_watched(fd))) {
        if (!cut) { errno = error; return -1; }
        cut = 0; countdown = 0;
        return REAL(ssize_t, "write", int, const void *, size_t)(fd, data, size / 2);
    }
    return REAL(ssize_t, "write", int, const void *, size_t)(fd, data, size);
}
#define FAILING(name) \
    int name(int fd) { if (fails(is_watched(fd))) { errno = error; return -1; } return REAL(int, #name, int)(fd); }
FAILING(fsync)
FAILING(fdatasync)
#define TRUNCATING(name) \
    int name(int fd, off_t size) { \
        if (fails(is_watched(fd))) { errno = error; return -1; } return REAL(int, #name, int, off_t)(fd, size); }
TRUNCATING(ftruncate)
TRUNCATING(ftruncate64)
#define READING(name) \
    ssize_t name(int fd, void *data, size_t size, off_t at) { \
        if (fails(is_watched(fd))) { errno = error; return -1; } \
        return REAL(ssize_t, #name, int, void *, size_t, off_t)(fd, data, size, at); }
READING(pread)
READING(pread64)
int unlink(const char *path) {
    if (fails(watched[0] && strstr(path, watched) != NULL)) { errno = error; return -1; }
    return REAL(int, "unlink", const char *)(path);
}
static int opened(const char *name, const char *path, int flags, mode_t mode) {
    if (fails(watched[0] && strstr(path, watched) != NULL)) { errno = error; return -1; }
    return REAL(int, name, const char *, int, ...)(path, flags, mode);
}
int open(const char *path, int flags, mode_t mode) { return opened("open", path, flags, mode); }
int open64(const char *path, int flags, mode_t mode) { return opened("open64", path, flags, mode); }
int posix_fallocate(int fd, off_t at, off_t size) {
    if (fails(is_watched(fd))) return error;
    return REAL(int, "posix_fallocate", int, off_t, off_t)(fd, at, size);
}
int posix_fallocate64(int fd, off_t at, off_t size) {
    if (fails(is_watched(fd))) return error;
    return REAL(int, "posix_fallocate64", int, off_t, off_t)(fd, at, size);
}
