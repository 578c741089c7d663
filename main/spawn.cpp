// SPDX-License-Identifier: Apache-2.0
#include "main/spawn.h"

#include <fcntl.h>
#include <unistd.h>

#include <system_error>
#include <utility>

namespace gpubench {
namespace {

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
  check(posix_spawn_file_actions_addopen(&actions_.value, number, file, flags, 0600));
}

void Spawn::keep(int number) {
  check(posix_spawn_file_actions_adddup2(&actions_.value, number, number));  // onto itself: no longer closed by exec
}

pid_t Spawn::start(const char* program, std::vector<std::string>& arguments, char** environment) {
  pid_t id = -1;
  check(posix_spawnp(&id, program, &actions_.value, &attributes_.value, pointers_to(arguments).data(), environment));
  return id;
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
