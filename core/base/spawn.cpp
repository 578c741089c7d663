// SPDX-License-Identifier: Apache-2.0
#include "core/base/spawn.h"

#include <fcntl.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cerrno>
#include <csignal>
#include <system_error>
#include <utility>

#include "core/base/descriptor.h"

namespace gpubench {
namespace {

constexpr mode_t private_mode = 0600;
constexpr int not_started = 127;

void check_made(int error) {
  if (error != 0) throw std::system_error(error, std::generic_category(), "a process cannot be prepared");
}

}  // namespace

Spawn::FileActions::FileActions() { check_made(posix_spawn_file_actions_init(&value)); }
Spawn::FileActions::~FileActions() { posix_spawn_file_actions_destroy(&value); }
Spawn::Attributes::Attributes() { check_made(posix_spawnattr_init(&value)); }
Spawn::Attributes::~Attributes() { posix_spawnattr_destroy(&value); }

Spawn::Spawn(std::string failure) : failure_(std::move(failure)) {
  open(STDIN_FILENO, "/dev/null", O_RDONLY);
  check(posix_spawnattr_setflags(&attributes_.value, POSIX_SPAWN_SETPGROUP));
  check(posix_spawnattr_setpgroup(&attributes_.value, 0));
}

void Spawn::open(int number, const char* file, int flags) {
  check(posix_spawn_file_actions_addopen(&actions_.value, number, file, flags, private_mode));
  opened_.push_back({number, file, flags});
}

void Spawn::keep(int number) {
  check(posix_spawn_file_actions_adddup2(&actions_.value, number, number));  // onto itself: no longer closed by exec
  kept_.push_back(number);
}

pid_t Spawn::start(const char* program, std::vector<std::string>& arguments, char** environment) {
  if (ends_with_parent_) return fork_and_start(program, pointers_to(arguments).data(), environment);
  pid_t id = -1;
  check(posix_spawnp(&id, program, &actions_.value, &attributes_.value, pointers_to(arguments).data(), environment));
  return id;
}

pid_t Spawn::fork_and_start(const char* program, char** arguments, char** environment) const {
  int ends[2];
  if (pipe2(ends, O_CLOEXEC) != 0) check(errno);  // closed by exec; else it brings the reason
  const Descriptor ours(ends[0]);
  Descriptor theirs(ends[1]);
  const pid_t parent = getpid();
  const pid_t id = fork();
  if (id == 0) {  // from here on only what is safe in a copy of one thread alone: calls of the system
    const int error = become(program, arguments, environment, parent);
    (void)!::write(theirs.number(), &error, sizeof(error));
    _exit(not_started);
  }
  if (id < 0) check(errno);
  theirs.close();
  int error = 0;
  ssize_t count = 0;
  do count = ::read(ours.number(), &error, sizeof(error));
  while (count < 0 && errno == EINTR);
  if (count == sizeof(error)) {
    while (waitpid(id, nullptr, 0) < 0 && errno == EINTR) {
    }
    check(error);
  }
  return id;
}

/// Returns only with an error.
int Spawn::become(const char* program, char** arguments, char** environment, pid_t parent) const {
  if (setpgid(0, 0) != 0) return errno;
  for (const Opened& file : opened_) {
    const int number = ::open(file.file.c_str(), file.flags, private_mode);
    if (number < 0) return errno;
    if (number != file.number && (dup2(number, file.number) < 0 || ::close(number) != 0)) return errno;
  }
  for (const int number : kept_)
    if (fcntl(number, F_SETFD, 0) != 0) return errno;
  if (prctl(PR_SET_PDEATHSIG, SIGKILL) != 0) return errno;
  if (getppid() != parent) return ECANCELED;  // it has ended already
  execvpe(program, arguments, environment);
  return errno;
}

void Spawn::check(int error) const {
  if (error != 0) throw std::system_error(error, std::generic_category(), failure_);
}

std::vector<char*> pointers_to(std::vector<std::string>& words) {
  std::vector<char*> pointers;
  for (std::string& word : words) pointers.push_back(word.data());
  pointers.push_back(nullptr);
  return pointers;
}

}  // namespace gpubench
