// SPDX-License-Identifier: Apache-2.0
#include "main/cli/terminal.h"

#include <fmt/format.h>
#include <sys/ioctl.h>
#include <unistd.h>

#include <algorithm>
#include <cstdio>
#include <cstdlib>
#include <cstring>

#include "core/base/environment.h"
#include "core/base/text.h"
#include "core/base/time.h"
#include "main/cli/options.h"
#include "main/cli/output.h"
#include "main/embedding.h"
#include "reports/result_table.h"

namespace gpubench {
namespace {

bool smart_terminal(int descriptor) {
  const std::string term = environment("TERM");
  return isatty(descriptor) != 0 && !term.empty() && term != "dumb";
}

int terminal_width(int descriptor) {
  winsize size{};
  if (ioctl(descriptor, TIOCGWINSZ, &size) == 0 && size.ws_col > 0) return size.ws_col;
  const int columns = number_in<int>(environment("COLUMNS")).value_or(0);
  return columns > 0 ? columns : 100;
}

/// NO_COLOR (no-color.org) goes before CLICOLOR_FORCE and CLICOLOR (bixense.com/clicolors).
bool automatic_color(int descriptor) {
  const std::string force = environment("CLICOLOR_FORCE");
  if (!environment("NO_COLOR").empty()) return false;
  if (!force.empty() && force != "0") return true;
  return smart_terminal(descriptor) && environment("CLICOLOR") != "0";
}

/// "   about 2 min left", from the pace so far; empty before that tells anything.
std::string time_left(double elapsed, double done) {
  if (elapsed < 2.0 || !(done > 0.02)) return {};
  const double rest = elapsed / done * (1.0 - std::min(done, 1.0));
  if (rest >= 90.0 * 60.0) return fmt::format("about {:.1f} h left", rest / 3600.0);
  return rest >= 90.0 ? fmt::format("about {:.0f} min left", rest / 60.0) : fmt::format("about {:.0f} s left", rest);
}

// A handler reaches nothing but what is global.
volatile std::sig_atomic_t noted_signal = 0;
const char* volatile words = nullptr;
volatile std::sig_atomic_t ends_at_once = 0;

extern "C" void note_signal(int number) {
  noted_signal = number;
  const char* const text = words;
  if (text != nullptr) (void)!::write(STDERR_FILENO, text, std::strlen(text));  // no help if it fails
  if (ends_at_once != 0) (void)std::raise(number);                              // of SA_RESETHAND: as usual
}

ConsoleStyle style_of(int descriptor, const Options& options) {
  const ColorChoice choice = options.color;
  ConsoleStyle style;
  style.color = choice == ColorChoice::always || (choice == ColorChoice::automatic && automatic_color(descriptor));
  style.whole_names = isatty(descriptor) == 0 && options.width == 0;
  style.width = options.width > 0 ? options.width : std::clamp(terminal_width(descriptor), 40, 400);
  return style;
}

}  // namespace

ConsoleStyle stdout_style(const Options& options) { return style_of(STDOUT_FILENO, options); }
ConsoleStyle stderr_style(const Options& options) { return style_of(STDERR_FILENO, options); }

void show_tables(const std::vector<ResultTable>& tables, std::string_view schema, const Options& options,
                 const std::vector<std::string>& warnings) {
  if (options.json && options.outputs.empty())
    show(reports::json(tables, schema, warnings));
  else if (!options.quiet)
    show(reports::console_text(tables, stdout_style(options)));
}

ProgressLine::ProgressLine(bool quiet)
    : active_(!quiet && smart_terminal(STDERR_FILENO)), start_seconds_(steady_seconds()) {}

ProgressLine::~ProgressLine() { clear(); }

void ProgressLine::point(std::size_t done, std::size_t total, std::string_view name) {
  const double share = total > 0 ? static_cast<double>(done) / static_cast<double>(total) : 0.0;
  show(fmt::format("[{:>{}}/{}] {}  {}", done + 1, fmt::formatted_size("{}", total), total, name,
                   time_left(steady_seconds() - start_seconds_, share)));
}

void ProgressLine::step(std::string_view what, double done) {
  if (done < last_step_) start_seconds_ = steady_seconds();  // another task begins
  last_step_ = done;
  show(fmt::format("{}  {:.0f} %  {}", what, 100.0 * done, time_left(steady_seconds() - start_seconds_, done)));
}

void ProgressLine::show(const std::string& text) {
  if (!active_) return;
  const auto width = static_cast<std::size_t>(std::max(20, terminal_width(STDERR_FILENO) - 1));
  (void)std::fflush(stdout);
  write_error_stream(fmt::format("\r{}\x1b[K", shorten(printable(text), width)));
  shown_ = true;
}

void ProgressLine::clear() {
  if (!shown_) return;
  write_error_stream("\r\x1b[K");
  shown_ = false;
}

Interruption::Interruption(const char* say, bool ends) : words_before_(words), ended_before_(ends_at_once != 0) {
  noted_signal = 0;
  if (say != nullptr) words = say;
  ends_at_once = ends ? 1 : 0;
  struct sigaction action {};
  action.sa_handler = note_signal;
  action.sa_flags = static_cast<int>(SA_RESETHAND);  // no SA_RESTART: waiting ends when a signal comes
  sigemptyset(&action.sa_mask);
  for (std::size_t i = 0; i < signals.size(); ++i) {
    (void)sigaction(signals[i], nullptr, &previous_[i]);
    if (previous_[i].sa_handler != SIG_IGN) (void)sigaction(signals[i], &action, nullptr);
  }
}

Interruption::~Interruption() {
  for (std::size_t i = 0; i < signals.size(); ++i) (void)sigaction(signals[i], &previous_[i], nullptr);
  words = words_before_;
  ends_at_once = ended_before_ ? 1 : 0;
}

int Interruption::noted() { return noted_signal; }

void Interruption::end() {
  const int number = noted_signal;
  if (embedding().finished) throw Interrupted{number};
  (void)std::signal(number, SIG_DFL);
  (void)std::raise(number);
  std::_Exit(128 + number);  // not reached but where the signal is blocked
}

}  // namespace gpubench
