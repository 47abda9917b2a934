// fairlead sim chaos: do the laws of the live system hold when things break?
#include <fmt/format.h>

#include <CLI/CLI.hpp>
#include <algorithm>
#include <memory>
#include <nlohmann/json.hpp>
#include <optional>
#include <string>
#include <vector>

#include "cli/command.h"
#include "cli/named_choice.h"
#include "cli/number_options.h"
#include "cli/output_files.h"
#include "cli/output_options.h"
#include "cli/terminal_progress.h"
#include "report/json_value.h"
#include "report/number_format.h"
#include "report/printable_text.h"
#include "report/text_table.h"
#include "sim/chaos/chaos_file.h"
#include "sim/chaos/chaos_search.h"

namespace fairlead::cli {

namespace {

using report::Align;
namespace chaos = sim::chaos;

struct ChaosCommandOptions {
  chaos::SearchOptions search;
  std::vector<std::string> kinds;
  double faulty_s = 40;
  double calm_s = 60;
  std::string replay;
  std::string save;
  bool log = false;
  OutputOptions output;
};

void PrintEvent(SimTime at, const std::string& text) { fmt::print("{:12.6f} s  {}\n", at.seconds().value(), text); }

std::string CommandOf(const chaos::ChaosOptions& run, const ChaosCommandOptions& options) {
  std::vector<std::string> args = {"fairlead",
                                   "sim",
                                   "chaos",
                                   "--seed",
                                   std::to_string(run.seed),
                                   "--hosts",
                                   std::to_string(run.num_hosts),
                                   "--jobs",
                                   std::to_string(run.num_jobs),
                                   "--rate",
                                   fmt::format("{}", options.search.faults_per_second)};
  if (!options.kinds.empty()) args.insert(args.end(), {"--faults", fmt::format("{}", fmt::join(options.kinds, ","))});
  if (run.num_nic_ports != 1) args.insert(args.end(), {"--nic-ports", std::to_string(run.num_nic_ports)});
  if (options.faulty_s != 40) args.insert(args.end(), {"--faulty-s", fmt::format("{}", options.faulty_s)});
  if (options.calm_s != 60) args.insert(args.end(), {"--calm-s", fmt::format("{}", options.calm_s)});
  return JoinArguments(args);
}

report::Document RenderViolation(const chaos::FoundViolation& found) {
  return report::WrapText(fmt::format("{:.3f} s after the start: \"{}\" does not hold: {}",
                                      found.violation.at.seconds().value(), found.violation.law, found.violation.text),
                          report::OutputWidth(), 2) +
         "\n";
}

report::Document RenderSearch(const chaos::SearchResult& result, const ChaosCommandOptions& options) {
  report::Document text =
      report::WrapText(
          fmt::format(
              "{} of {:.0f} s, {} hosts and {} jobs: {} connections were opened, {} ports of open ones changed, "
              "{} isolated, jobs restarted {} times.",
              report::FormatCount(result.num_runs, "run"),
              result.num_runs == 0 ? 0 : result.simulated.value() / static_cast<double>(result.num_runs),
              options.search.run.num_hosts, options.search.run.num_jobs, result.num_opened, result.num_moved,
              report::FormatCount(result.num_isolated, "host"), result.num_restarted),
          report::OutputWidth(), 0) +
      "\n\n";
  report::TextTable table(
      {{.heading = "fault"}, {.heading = "times", .align = Align::kRight}, {.heading = "what breaks"}});
  for (size_t k = 0; k < result.num_faults.size(); ++k) {
    if (result.num_faults[k] == 0) continue;
    table.AddRow({std::string(chaos::kFaultNames[k]), std::to_string(result.num_faults[k]),
                  std::string(chaos::kFaultMeanings[k])});
  }
  if (result.num_faults != decltype(result.num_faults){}) text += report::Document(std::move(table)) + "\n";
  if (result.num_violated == 0) {
    text += result.num_runs == 1 ? "All laws held.\n" : "All laws held in all of them.\n";
    return text;
  }
  text += fmt::format("{} broke a law:\n", report::FormatCount(result.num_violated, "run"));
  for (const chaos::FoundViolation& found : result.violations) {
    text += fmt::format("\nseed {}: ", found.run.seed) + RenderViolation(found) + "  " + CommandOf(found.run, options) +
            "\n";
  }
  return text;
}

report::Json ToJson(const chaos::FoundViolation& found) {
  return {{"seed", found.run.seed},
          {"at_s", found.violation.at.seconds().value()},
          {"law", found.violation.law},
          {"description", found.violation.text},
          {"num_faults", found.run.faults.size()}};
}

report::Json ToJson(const chaos::SearchResult& result, const std::optional<chaos::FoundViolation>& smallest) {
  report::Json faults = report::Json::object();
  for (size_t k = 0; k < result.num_faults.size(); ++k)
    faults[std::string(chaos::kFaultNames[k])] = result.num_faults[k];
  report::Json violations = report::Json::array();
  for (const chaos::FoundViolation& found : result.violations) violations.push_back(ToJson(found));
  report::Json json = {{"num_runs", result.num_runs},           {"num_violated", result.num_violated},
                       {"was_stopped", result.was_stopped},     {"simulated_s", result.simulated.value()},
                       {"num_events", result.num_events},       {"num_opened", result.num_opened},
                       {"num_moved", result.num_moved},         {"num_isolated", result.num_isolated},
                       {"num_restarted", result.num_restarted}, {"hash", fmt::format("{:016x}", result.hash)},
                       {"faults", std::move(faults)},           {"violations", std::move(violations)}};
  if (smallest.has_value()) {
    json["smallest"] = ToJson(*smallest);
    json["smallest"]["file"] = chaos::WriteChaosFile(smallest->run);
  }
  return json;
}

// The search, or the one history of a file.
Result<chaos::SearchResult> Run(ChaosCommandOptions* options) {
  const std::atomic<bool>& stop = StopRequested();
  if (options->replay.empty()) {
    FL_RETURN_IF_ERROR(options->search.Validate());
    TerminalProgress progress;
    chaos::SearchResult result =
        chaos::SearchChaos(options->search, stop, [&](double share) { progress.Update("chaos", share); });
    progress.Finish();
    return result;
  }
  FL_ASSIGN_OR_RETURN(chaos::ChaosOptions run, chaos::LoadChaosFile(FindInputFile(options->replay)));
  options->search.run = run;
  if (options->log) run.log = PrintEvent;
  const chaos::ChaosResult outcome = chaos::RunChaos(run);
  chaos::SearchResult result;
  result.num_runs = 1;
  result.num_events = outcome.num_events;
  result.num_opened = outcome.num_opened;
  result.num_moved = outcome.num_moved;
  result.num_isolated = outcome.num_isolated;
  result.num_restarted = outcome.num_restarted;
  result.simulated = outcome.simulated.seconds();
  result.hash = outcome.hash;
  for (const chaos::Fault& fault : run.faults) ++result.num_faults[static_cast<size_t>(fault.kind)];
  if (outcome.violation.has_value()) {
    result.num_violated = 1;
    result.violations.push_back({run, *outcome.violation});
  }
  return result;
}

Status Prepare(ChaosCommandOptions* options) {
  options->search.run.faulty_for = SimDuration::FromSeconds(Seconds(options->faulty_s));
  options->search.run.calm_for = SimDuration::FromSeconds(Seconds(options->calm_s));
  options->search.kinds = chaos::AllFaultKinds();
  if (!options->kinds.empty()) options->search.kinds.clear();
  for (const std::string& name : options->kinds) {
    const auto kind = std::ranges::find(chaos::kFaultNames, name);  // the parser has checked it
    options->search.kinds.push_back(static_cast<chaos::FaultKind>(kind - chaos::kFaultNames.begin()));
  }
  if (options->log && options->replay.empty() && options->search.num_seeds > 1) {
    return InvalidArgument("--log: expected one run: --seeds 1, or --replay FILE");
  }
  if (options->log && IsStdout(options->output.json_path())) {
    return InvalidArgument("--log: stdout has the JSON of --json -; expected --json FILE beside it");
  }
  return OkStatus();
}

int Chaos(ChaosCommandOptions options) {
  StopRequested();
  auto files = OutputFiles::Prepare(options.output, {options.save});
  if (!files.ok()) return ReportError(files.status());
  if (const Status status = Prepare(&options); !status.ok()) return ReportError(status);
  if (options.log) options.search.run.log = PrintEvent;
  const auto result = Run(&options);
  if (!result.ok()) return ReportError(result.status());
  files->Print(RenderSearch(*result, options));
  std::optional<chaos::FoundViolation> smallest;
  if (!result->violations.empty()) {
    chaos::FoundViolation first = result->violations.front();
    first.run.log = nullptr;
    smallest = chaos::Minimise(first, StopRequested());
    std::string text = chaos::WriteChaosFile(smallest->run);
    files->Print(
        report::Document(fmt::format("\nThe smallest run found that breaks the law of seed {}:\n\n", first.run.seed)) +
        RenderViolation(*smallest) + "\n" + text);
    files->Write(options.save, "Run", [&] { return text; });
  }
  files->WriteJson("JSON", [&] { return report::Dump(ToJson(*result, smallest)); });
  if (!files->status().ok()) return ReportError(files->status());
  if (result->was_stopped) {
    fmt::print(stderr, "fairlead: stopped before the end; the numbers are partial\n");
    return InterruptedExitCode();
  }
  return result->num_violated == 0 ? kExitOk : kExitNo;
}

}  // namespace

void AddSimChaosCommand(CLI::App& app, Invocation* invocation) {
  auto options = std::make_shared<ChaosCommandOptions>();
  CLI::App* sim = app.add_subcommand("sim", "Simulate shared training clusters.");
  CLI::App* command = sim->add_subcommand(
      "chaos",
      "Check laws of controller and agents in virtual time while things break; exit code 1: a law does not hold.");
  command->add_option("--seed", options->search.first_seed, "Seed of the first run")->capture_default_str();
  command->add_option("--seeds", options->search.num_seeds, "Runs, each with another seed")
      ->capture_default_str()
      ->check(CLI::Range(uint64_t{1}, uint64_t{100'000'000}));
  command->add_option("--faults", options->kinds, "Kinds of faults, separated by commas; default: all")
      ->delimiter(',')
      ->check(OneOf(chaos::kFaultNames));
  command->add_option("--rate", options->search.faults_per_second, "Faults per second, of all kinds together")
      ->capture_default_str()
      ->check(CLI::Range(0.0, 100.0));
  command->add_option("--hosts", options->search.run.num_hosts, "Hosts, three on each leaf")
      ->capture_default_str()
      ->check(CLI::Range(2, 64));
  command->add_option("--nic-ports", options->search.run.num_nic_ports, "Ports of each NIC; 2: bonds over two planes")
      ->capture_default_str()
      ->check(CLI::Range(1, 2));
  command->add_option("--jobs", options->search.run.num_jobs, "Jobs; they begin, end and start again")
      ->capture_default_str()
      ->check(CLI::Range(0, 64));
  command->add_option("--faulty-s", options->faulty_s, "Seconds with faults, and with jobs that begin and end")
      ->capture_default_str()
      ->check(CLI::Range(0.0, 1e6));
  command->add_option("--calm-s", options->calm_s, "Seconds without faults, before the system has to be in order")
      ->capture_default_str()
      ->check(CLI::Range(30.0, 1e6));
  command->add_option("--replay", options->replay, "Repeat the run of FILE (as --save writes it)")->type_name("FILE");
  command->add_option("--save", options->save, "Write the smallest run that breaks a law to FILE")->type_name("FILE");
  command->add_flag("--log", options->log, "Print what happens in one run");
  command->add_option("--threads", options->search.num_threads, "Threads; 0: one per processor")
      ->check(CLI::Range(0, 1024));
  AddOutputOptions(command, &options->output, "Write the result as JSON to FILE; - prints only JSON");
  command->footer(
      "Example: fairlead sim chaos --seeds 1000\n"
      "         fairlead sim chaos --seeds 1 --seed 7 --faults controller,agent --log");
  command->callback([options, invocation] { invocation->exit_code = Chaos(*options); });
}

}  // namespace fairlead::cli
