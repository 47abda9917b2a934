// fairlead top: a running cluster on a terminal, the jobs that lose most first.
#include <fmt/format.h>
#include <poll.h>
#include <sys/ioctl.h>
#include <termios.h>
#include <unistd.h>

#include <CLI/CLI.hpp>
#include <atomic>
#include <chrono>
#include <cstdio>
#include <memory>
#include <optional>
#include <string>
#include <utility>

#include "cli/cluster/cluster_commands.h"
#include "cli/cluster/cluster_query.h"
#include "cli/cluster/top_screen.h"
#include "cli/command.h"
#include "cli/output_files.h"
#include "report/json_value.h"

namespace fairlead::cli {
namespace {

constexpr uint64_t kConnectionsShown = 100;
constexpr size_t kLinksShown = 500;
constexpr size_t kHostsShown = 500;

struct TopOptions {
  bool once = false;
  double period_s = 2;
  ControllerHttpOptions http;
  OutputOptions output;
};

// Keys come one by one and unseen, and the picture is on a screen of its own, until this ends.
class RawTerminal {
 public:
  RawTerminal() {
    tcgetattr(STDIN_FILENO, &before_);
    termios raw = before_;
    raw.c_lflag &= ~static_cast<tcflag_t>(ICANON | ECHO);
    raw.c_cc[VMIN] = 0;
    raw.c_cc[VTIME] = 0;
    tcsetattr(STDIN_FILENO, TCSANOW, &raw);
    Write("\x1b[?1049h\x1b[?25l");
  }
  ~RawTerminal() {
    Write("\x1b[?25h\x1b[?1049l");
    tcsetattr(STDIN_FILENO, TCSANOW, &before_);
  }
  RawTerminal(const RawTerminal&) = delete;
  RawTerminal& operator=(const RawTerminal&) = delete;

  void Draw(const std::string& text) {
    std::string picture = "\x1b[H";
    for (const char c : text) picture += c == '\n' ? std::string("\x1b[K\r\n") : std::string(1, c);
    Write(picture + "\x1b[J");
  }

  // The next key within `milliseconds`; -1: none, -2: the keyboard is gone.
  int ReadKey(int milliseconds) {
    pollfd input = {.fd = STDIN_FILENO, .events = POLLIN, .revents = 0};
    if (poll(&input, 1, milliseconds) <= 0) return -1;
    const int key = ReadByte();
    if (key < 0) return -2;
    if (key != 0x1b) return key;
    if (ReadByte() != '[') return TopScreen::kEscape;
    switch (ReadByte()) {
      case 'A':
        return TopScreen::kUp;
      case 'B':
        return TopScreen::kDown;
      case '5':
        ReadByte();
        return TopScreen::kPageUp;
      case '6':
        ReadByte();
        return TopScreen::kPageDown;
      default:
        return -1;
    }
  }

 private:
  static int ReadByte() {
    unsigned char byte = 0;
    return read(STDIN_FILENO, &byte, 1) == 1 ? byte : -1;
  }
  static void Write(const std::string& text) {
    std::fwrite(text.data(), 1, text.size(), stdout);
    std::fflush(stdout);
  }

  termios before_{};
};

std::pair<size_t, size_t> TerminalSize() {
  winsize size{};
  if (ioctl(STDOUT_FILENO, TIOCGWINSZ, &size) != 0 || size.ws_col == 0 || size.ws_row == 0) return {100, 30};
  return {size.ws_col, size.ws_row};
}

report::Json StateJson(const ClusterState& state, const report::Json& jobs) {
  const auto [gpus, lost_gpus, num_findings] = TotalsOf(state);
  return {{"server", state.server},
          {"time_s", state.now_s},
          {"hosts", state.hosts.all.hosts},
          {"connected_hosts", state.hosts.all.connected},
          {"isolated_hosts", state.steering.isolated.size()},
          {"gpus", gpus},
          {"lost_gpus", lost_gpus},
          {"findings", num_findings},
          {"open_actions", state.steering.open_actions.size()},
          {"jobs", jobs.at("jobs")}};
}

int ShowOnce(const TopOptions& options, ControllerHttp* controller) {
  auto files = OutputFiles::Prepare(options.output);
  if (!files.ok()) return ReportError(files.status());
  auto state = AskForState(controller);
  if (!state.ok()) return ReportError(state.status());
  SortByLoss(&state->jobs);
  files->Print(ClusterSummary(*state) + "\n" + JobTable(state->jobs));
  if (options.output.json_path().empty()) return kExitOk;
  const auto jobs = controller->Get("/v1/jobs");
  if (!jobs.ok()) return ReportError(jobs.status());
  files->WriteJson("JSON", [&] { return report::Dump(StateJson(*state, *jobs)); });
  return files->status().ok() ? kExitOk : ReportError(files->status());
}

Result<report::Document> DescribeShown(const TopScreen& screen, const ClusterState& state, ControllerHttp* controller) {
  for (const wire::LiveJob& job : state.jobs) {
    if (job.name != screen.described_job()) continue;
    FL_ASSIGN_OR_RETURN(const wire::ConnectionList connections,
                        AskForConnections(controller, job.name, kConnectionsShown));
    return DescribeJob(job, state, connections);
  }
  return report::Document("The job has no connections any more.\n");
}

int ShowUntilStopped(const TopOptions& options, ControllerHttp* controller) {
  // Before the terminal is changed: a controller that is not there is one line.
  auto state = AskForState(controller);
  if (!state.ok()) return ReportError(state.status());
  const std::atomic<bool>& stop = StopRequested();
  RawTerminal terminal;
  TopScreen screen;
  std::string trouble;
  auto next = std::chrono::steady_clock::now();
  while (!stop) {
    const auto now = std::chrono::steady_clock::now();
    if (now >= next) {
      const LongLists wanted = {.hosts = screen.needs_hosts() ? kHostsShown : 1,
                                .links = screen.needs_links() ? kLinksShown : 0};
      auto newer = AskForState(controller, wanted);
      trouble = newer.ok() ? "" : newer.status().message();
      if (newer.ok()) state = std::move(newer);
      next = now + std::chrono::milliseconds(static_cast<int64_t>(options.period_s * 1000));
    }
    auto description = DescribeShown(screen, *state, controller);
    const auto [width, height] = TerminalSize();
    const std::string picture =
        screen.Render(*state, description.ok() ? *description : report::Document(description.status().message() + "\n"),
                      width, height - (trouble.empty() ? 1 : 2));
    terminal.Draw(trouble.empty() ? picture : picture + trouble.substr(0, width) + "\n");
    const auto left = std::chrono::duration_cast<std::chrono::milliseconds>(next - std::chrono::steady_clock::now());
    const bool showed_hosts = screen.needs_hosts();
    const int key = terminal.ReadKey(static_cast<int>(std::max<int64_t>(0, left.count())));
    if (key == -2 || (key >= 0 && !screen.Press(key))) return kExitOk;
    // The lists of another view are fetched at once.
    const bool wants_links = screen.needs_links() && state->links.links.empty();
    const bool wants_hosts = screen.needs_hosts() && !showed_hosts;
    if (key >= 0 && (wants_links || wants_hosts)) next = std::chrono::steady_clock::now();
  }
  return InterruptedExitCode();
}

int RunTop(const TopOptions& options) {
  auto controller = ControllerHttp::Open(options.http);
  if (!controller.ok()) return ReportError(controller.status());
  const bool is_once = options.once || !options.output.json_path().empty() || options.output.format != "table";
  if (is_once) return ShowOnce(options, &*controller);
  if (isatty(STDIN_FILENO) == 0 || isatty(STDOUT_FILENO) == 0) {
    return ReportError(
        InvalidArgument("top needs a terminal for its display and its keys; --once prints one snapshot"));
  }
  return ShowUntilStopped(options, &*controller);
}

}  // namespace

void AddTopCommand(CLI::App& app, Invocation* invocation) {
  auto options = std::make_shared<TopOptions>();
  CLI::App* top = app.add_subcommand("top", "Show a running cluster on the terminal: the jobs that lose most first.");
  top->add_flag("--once", options->once, "Print one snapshot and exit");
  top->add_option("--period", options->period_s, "Time between two snapshots")
      ->type_name("SECONDS")
      ->check(CLI::Range(0.2, 3600.0))
      ->capture_default_str();
  AddServerOptions(top, &options->http);
  AddOutputOptions(top, &options->output, "Write one snapshot as JSON to FILE; - prints only JSON");
  top->footer(
      "Example: fairlead top --server controller:8080\nKeys: Enter explains a job, o s g n sort, j jobs, f findings, l "
      "links, h hosts, q quits.");
  top->callback([options, invocation] { invocation->exit_code = RunTop(*options); });
}

}  // namespace fairlead::cli
