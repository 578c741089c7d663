// SPDX-License-Identifier: Apache-2.0
// Starting a process, with what every process that is started here has: a group of its own, and nothing on standard
// input.
#pragma once

#include <spawn.h>
#include <sys/types.h>

#include <string>
#include <vector>

namespace gpubench {

class Spawn {
 public:
  /// `failure` is what an error says before the system's own words. All members throw std::system_error.
  explicit Spawn(std::string failure);
  /// The process's file `number` is a file, opened with these flags; new ones are for this user alone.
  void open(int number, const char* file, int flags);
  /// It has the open file `number` of this process.
  void keep(int number);
  /// It is to end by SIGKILL when the thread that starts it ends, however that ends. posix_spawn has no such attribute,
  /// so that it is forked: not for a process that works with a GPU.
  void end_with_parent() { ends_with_parent_ = true; }
  /// Starts a program, looked for in PATH where its name has no slash.
  pid_t start(const char* program, std::vector<std::string>& arguments, char** environment);

 private:
  // Objects of their own, because a constructor that throws runs no destructor.
  struct FileActions {
    FileActions();
    ~FileActions();
    FileActions(const FileActions&) = delete;
    FileActions& operator=(const FileActions&) = delete;
    posix_spawn_file_actions_t value{};
  };
  struct Attributes {
    Attributes();
    ~Attributes();
    Attributes(const Attributes&) = delete;
    Attributes& operator=(const Attributes&) = delete;
    posix_spawnattr_t value{};
  };
  struct Opened {
    int number;
    std::string file;
    int flags;
  };
  void check(int error) const;
  pid_t fork_and_start(const char* program, char** arguments, char** environment) const;
  [[nodiscard]] int become(const char* program, char** arguments, char** environment, pid_t parent) const;

  std::string failure_;
  std::vector<Opened> opened_;
  std::vector<int> kept_;
  bool ends_with_parent_ = false;
  FileActions actions_;
  Attributes attributes_;
};

/// For calls of the system that take an array of words, ended by a null pointer. Valid as long as the words.
std::vector<char*> pointers_to(std::vector<std::string>& words);

}  // namespace gpubench
