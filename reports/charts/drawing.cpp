// SPDX-License-Identifier: Apache-2.0
#include "reports/charts/drawing.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <spawn.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include <array>
#include <cerrno>
#include <chrono>
#include <csignal>
#include <cstdlib>
#include <cstring>
#include <filesystem>
#include <optional>
#include <thread>
#include <vector>

#include "core/base/descriptor.h"
#include "core/base/text.h"

namespace gpubench::reports {
namespace {

constexpr auto time_limit = std::chrono::seconds(120);
constexpr int without_package = 93;  ///< the script's exit code
constexpr auto how_to_get_it =
    "to draw PNG, SVG and PDF: python3 -m venv venv && venv/bin/pip install vl-convert-python, then set "
    "GPUBENCH_PYTHON=venv/bin/python; or write .html or .vl.json, which need nothing";

/// Nothing from the working folder is imported; nothing is fetched, for all data are in the specification.
constexpr auto script = R"python(
import sys
sys.path[:] = [path for path in sys.path if path]
try:
    import vl_convert
except ImportError:
    sys.exit(93)
if not any(version.startswith("6") for version in vl_convert.get_vegalite_versions()):
    sys.exit("vl-convert " + vl_convert.__version__ + " has no Vega-Lite 6: upgrade vl-convert-python")
kind = sys.argv[1]
if kind == "check":
    sys.exit(0)
spec = sys.stdin.buffer.read().decode()
try:
    if kind == "svg":
        picture = vl_convert.vegalite_to_svg(spec, allowed_base_urls=[]).encode()
    elif kind == "pdf":
        picture = vl_convert.vegalite_to_pdf(spec, allowed_base_urls=[])
    else:
        picture = vl_convert.vegalite_to_png(spec, scale=2, ppi=96, allowed_base_urls=[])
except Exception as error:
    sys.exit(str(error))
sys.stdout.buffer.write(picture)
)python";

/// A file without a name, in memory: there is nothing to clean up and nothing that others could put in its place.
Descriptor nameless_file() {
  Descriptor file(memfd_create("gpubench-picture", MFD_CLOEXEC));
  if (file.number() < 0) throw DrawingError(fmt::format("no memory for a picture: {}", std::strerror(errno)));
  return file;
}

void put(const Descriptor& file, std::string_view text) {
  while (!text.empty()) {
    const auto written = ::write(file.number(), text.data(), text.size());
    if (written < 0 && errno == EINTR) continue;
    if (written <= 0) throw DrawingError(fmt::format("no memory for a picture: {}", std::strerror(errno)));
    text.remove_prefix(static_cast<std::size_t>(written));
  }
  (void)lseek(file.number(), 0, SEEK_SET);
}

std::string read_all(const Descriptor& file) {
  struct stat facts {};
  if (fstat(file.number(), &facts) != 0 || facts.st_size <= 0) return {};
  std::string text(static_cast<std::size_t>(facts.st_size), '\0');
  std::size_t done = 0;
  while (done < text.size()) {
    const auto got = pread(file.number(), text.data() + done, text.size() - done, static_cast<off_t>(done));
    if (got < 0 && errno == EINTR) continue;
    if (got <= 0) break;
    done += static_cast<std::size_t>(got);
  }
  text.resize(done);
  return text;
}

struct SpawnActions {
  posix_spawn_file_actions_t actions{};
  posix_spawnattr_t attributes{};
  SpawnActions() {
    posix_spawn_file_actions_init(&actions);
    posix_spawnattr_init(&attributes);
    posix_spawnattr_setflags(&attributes, POSIX_SPAWN_SETPGROUP);  // so that what it starts ends with it
    posix_spawnattr_setpgroup(&attributes, 0);
  }
  ~SpawnActions() {
    posix_spawn_file_actions_destroy(&actions);
    posix_spawnattr_destroy(&attributes);
  }
  SpawnActions(const SpawnActions&) = delete;
  SpawnActions& operator=(const SpawnActions&) = delete;
};

/// Waits for a process and its exit status; ends it, and all it started, when the time is up (then absent).
std::optional<int> wait_for(pid_t id) {
  const auto deadline = std::chrono::steady_clock::now() + time_limit;
  int status = 0;
  while (true) {
    const pid_t ended = waitpid(id, &status, WNOHANG);
    if (ended == id) return status;
    if (ended < 0 && errno != EINTR) return std::nullopt;
    if (std::chrono::steady_clock::now() > deadline) {
      (void)kill(-id, SIGKILL);
      while (waitpid(id, &status, 0) < 0 && errno == EINTR) {
      }
      return std::nullopt;
    }
    std::this_thread::sleep_for(std::chrono::milliseconds(5));
  }
}

struct Outcome {
  bool missing = false;  ///< no such Python, or it has no vl_convert
  std::string picture;
};

Outcome run_python(const std::string& python, const char* kind, std::string_view specification) {
  const Descriptor input = nameless_file();
  const Descriptor output = nameless_file();
  const Descriptor errors = nameless_file();
  put(input, specification);
  SpawnActions settings;
  posix_spawn_file_actions_adddup2(&settings.actions, input.number(), STDIN_FILENO);
  posix_spawn_file_actions_adddup2(&settings.actions, output.number(), STDOUT_FILENO);
  posix_spawn_file_actions_adddup2(&settings.actions, errors.number(), STDERR_FILENO);
  std::array<std::string, 4> words = {python, "-c", script, kind};
  std::array<char*, 5> arguments = {words[0].data(), words[1].data(), words[2].data(), words[3].data(), nullptr};
  pid_t id = -1;
  const int error =
      posix_spawnp(&id, python.c_str(), &settings.actions, &settings.attributes, arguments.data(), environ);
  if (error == ENOENT || error == EACCES || error == ENOTDIR) return {true, {}};
  if (error != 0) throw DrawingError(fmt::format("{} cannot be started: {}", printable(python), std::strerror(error)));
  const auto status = wait_for(id);
  if (!status)
    throw DrawingError(fmt::format("{} drew for {} s without an end and was stopped; write .html or .vl.json",
                                   printable(python), time_limit.count()));
  if (WIFEXITED(*status) && (WEXITSTATUS(*status) == without_package || WEXITSTATUS(*status) == 127)) return {true, {}};
  if (!WIFEXITED(*status) || WEXITSTATUS(*status) != 0) {
    auto reason = read_all(errors);
    if (reason.size() > 600) reason.resize(600);
    while (!reason.empty() && reason.back() == '\n') reason.pop_back();
    throw DrawingError(fmt::format("vl-convert by {} drew nothing: {}", printable(python),
                                   reason.empty() ? "it ended without a word" : printable(reason)));
  }
  return {false, read_all(output)};
}

/// Those to try, in their order; an environment variable that is set is the only one.
std::vector<std::string> pythons() {
  const char* const chosen = std::getenv("GPUBENCH_PYTHON");
  if (chosen != nullptr && *chosen != '\0') return {chosen};
  std::vector<std::string> list;
  std::error_code error;
  const auto program = std::filesystem::read_symlink("/proc/self/exe", error);
  const auto own = program.parent_path() / "venv" / "bin" / "python";
  if (!error && std::filesystem::exists(own, error)) list.push_back(own.string());
  list.emplace_back("python3");
  return list;
}

std::string run_any(const char* kind, std::string_view specification) {
  std::string tried;
  for (const auto& python : pythons()) {
    auto outcome = run_python(python, kind, specification);
    if (!outcome.missing) return std::move(outcome.picture);
    tried += (tried.empty() ? "" : ", ") + printable(python);
  }
  throw DrawingError(fmt::format("vl-convert is not there (tried {}); {}", tried, how_to_get_it));
}

}  // namespace

std::string draw(std::string_view specification, PictureFormat format) {
  constexpr std::array kinds = {"png", "svg", "pdf"};
  auto picture = run_any(kinds[static_cast<std::size_t>(format)], specification);
  if (picture.empty()) throw DrawingError("vl-convert drew an empty picture; write .html or .vl.json");
  return picture;
}

void check_can_draw() { (void)run_any("check", ""); }

}  // namespace gpubench::reports
