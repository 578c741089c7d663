// SPDX-License-Identifier: Apache-2.0
// To be preloaded: lets the n-th call of one function of the system fail, in each process that has it.
//   FAIL=write:3       the third call fails
//   FAIL=write:3+      and so do all after it
//   FAIL_LOG=FILE      a byte is added for each call that failed
#include <dlfcn.h>
#include <fcntl.h>
#include <pthread.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <sys/types.h>
#include <unistd.h>

#include <atomic>
#include <cerrno>
#include <cstdarg>
#include <cstdio>
#include <cstdlib>
#include <cstring>

namespace {

/// Whether this call of the function is to fail.
bool fails(const char* function) {
  static std::atomic<long> calls = 0;
  const char* const plan = std::getenv("FAIL");
  const std::size_t length = std::strlen(function);
  if (plan == nullptr || std::strncmp(plan, function, length) != 0 || plan[length] != ':') return false;
  char* end = nullptr;
  const long first = std::strtol(plan + length + 1, &end, 10);
  const long call = ++calls;
  if (call != first && !(*end == '+' && call > first)) return false;
  if (const char* const log = std::getenv("FAIL_LOG"); log != nullptr) {
    const auto file = static_cast<int>(syscall(SYS_openat, AT_FDCWD, log, O_WRONLY | O_CREAT | O_APPEND, 0644));
    (void)syscall(SYS_write, file, "x", 1);
    (void)syscall(SYS_close, file);
  }
  return true;
}

template <class Function>
Function* real(const char* name) {
  return reinterpret_cast<Function*>(dlsym(RTLD_NEXT, name));
}

template <class Result>
Result failed(int error, Result result) {
  errno = error;
  return result;
}

}  // namespace

extern "C" {

ssize_t write(int file, const void* bytes, size_t count) {
  if (file > STDERR_FILENO && fails("write")) return failed<ssize_t>(ENOSPC, -1);
  return real<ssize_t(int, const void*, size_t)>("write")(file, bytes, count);
}

int open(const char* path, int flags, ...) {
  va_list rest;
  va_start(rest, flags);
  const mode_t mode = (flags & O_CREAT) != 0 ? va_arg(rest, mode_t) : 0;
  va_end(rest);
  if (fails("open")) return failed(EMFILE, -1);
  return real<int(const char*, int, ...)>("open")(path, flags, mode);
}

int rename(const char* from, const char* to) noexcept {
  return fails("rename") ? failed(EACCES, -1) : real<int(const char*, const char*)>("rename")(from, to);
}

int linkat(int from_folder, const char* from, int to_folder, const char* to, int flags) noexcept {
  if (fails("rename")) return failed(EACCES, -1);
  return real<int(int, const char*, int, const char*, int)>("linkat")(from_folder, from, to_folder, to, flags);
}

int fsync(int file) { return fails("fsync") ? failed(EIO, -1) : real<int(int)>("fsync")(file); }

void* mmap(void* place, size_t size, int protection, int flags, int file, off_t offset) noexcept {
  if (fails("mmap")) return failed(ENOMEM, MAP_FAILED);
  return real<void*(void*, size_t, int, int, int, off_t)>("mmap")(place, size, protection, flags, file, offset);
}

/// By a copy: what this returns to must not be the stack that a real one shares.
pid_t vfork() noexcept { return fails("fork") ? failed<pid_t>(EAGAIN, -1) : real<pid_t()>("fork")(); }

int pthread_create(pthread_t* thread, const pthread_attr_t* attributes, void* (*body)(void*), void* argument) noexcept {
  if (fails("thread")) return EAGAIN;
  return real<int(pthread_t*, const pthread_attr_t*, void* (*)(void*), void*)>("pthread_create")(thread, attributes,
                                                                                                 body, argument);
}

}  // extern "C"
