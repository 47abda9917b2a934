// What the commands share: exit codes from Status, checks of output files, Ctrl-C.
#pragma once

#include <atomic>
#include <span>
#include <string>

#include "base/status.h"

// NOLINTNEXTLINE(readability-identifier-naming): the library's name
namespace CLI {
class App;
}

namespace fairlead::experiment {
struct Experiment;
}

namespace fairlead::cli {

inline constexpr int kExitOk = 0;
inline constexpr int kExitNo = 1;  // a check failed
inline constexpr int kExitBadInput = 2;
inline constexpr int kExitUnavailable = 3;
inline constexpr int kExitInternal = 4;

// Prints "fairlead: message" to stderr and returns the exit code that belongs to the Status; for kCancelled after a
// signal that is InterruptedExitCode().
int ReportError(const Status& status);

// `--json -`: the JSON goes to stdout, and nothing else does.
inline bool IsStdout(const std::string& path) { return path == "-"; }

// Prints `content` for "-", else writes the file whole or not at all.
Status WriteOutput(const std::string& path, const std::string& content);

// A long command must not find out at its end that its output can't be written: makes the folder of `path` where it is
// missing. Empty paths are fine.
Status PrepareOutputFolder(const std::string& path);

// `path` if it exists; else the file of that name among the data that came with the program (the source tree or
// PREFIX/share/fairlead), so that `sim run scenarios/x.yaml` works from any folder; else `path`.
std::string FindInputFile(const std::string& path);

// Turns true at the first SIGINT or SIGTERM; the second one kills the process as usual. Installed by the first call.
const std::atomic<bool>& StopRequested();

// 128 plus the number of the signal that StopRequested() speaks of, as in shells: 130 after Ctrl-C, 143 after SIGTERM.
int InterruptedExitCode();

// How this program was called, for advice on what to type next: "fairlead", or "./run" where that started it.
std::string CalledAs();

// The arguments as one line that a shell splits into them again.
std::string JoinArguments(std::span<const std::string> args);

// One call of the program.
struct Invocation {
  std::string command_line;  // as typed, for reports
  int exit_code = kExitOk;   // set by the command that ran
};

// Each adds its commands to the app. The invocation outlives the app.
void AddSimCommands(CLI::App& app, Invocation* invocation);
void AddSimChaosCommand(CLI::App& app, Invocation* invocation);
void AddAgentCommands(CLI::App& app, Invocation* invocation);
void AddAgentCheckCommand(CLI::App* agent, Invocation* invocation);
void AddAgentProcessesCommand(CLI::App* agent, Invocation* invocation);
void AddAgentRunCommand(CLI::App* agent, Invocation* invocation);
void AddAuditCommands(CLI::App& app, Invocation* invocation);
void AddCertCommands(CLI::App& app, Invocation* invocation);
void AddControllerCommand(CLI::App& app, Invocation* invocation);
void AddDiagCommands(CLI::App& app, Invocation* invocation);
void AddDiagSimulateCommand(CLI::App* diag, Invocation* invocation);
void AddDiagDrillCommand(CLI::App* diag, Invocation* invocation);
void AddDoctorCommand(CLI::App& app, Invocation* invocation);
void AddFabricCommands(CLI::App& app, Invocation* invocation);
void AddJobCommands(CLI::App& app, Invocation* invocation);
void AddExplainCommand(CLI::App& app, Invocation* invocation);
void AddReferenceCommands(CLI::App& app, Invocation* invocation);
void AddScenarioFileCommands(CLI::App& app, Invocation* invocation);
void AddSchedCommands(CLI::App& app, Invocation* invocation);
void AddWorkloadCommands(CLI::App& app, Invocation* invocation);
void AddPredictCommands(CLI::App& app, Invocation* invocation);
void AddLabCommands(CLI::App& app, Invocation* invocation);
void AddLabRunCommand(CLI::App* lab, Invocation* invocation);
void AddLabDemoCommand(CLI::App* lab, Invocation* invocation);
void AddLabDiagnoseCommand(CLI::App* lab, Invocation* invocation);
void AddLabHookCommand(CLI::App* lab, Invocation* invocation);
void AddTraceCommands(CLI::App& app, Invocation* invocation);
void AddExperimentCommands(CLI::App& app, std::span<const experiment::Experiment> experiments, Invocation* invocation);

}  // namespace fairlead::cli
