// fairlead lab demo: a lab, eight jobs under ECMP and under Fairlead, both printed, nothing left.
#include <fmt/format.h>
#include <unistd.h>

#include <CLI/CLI.hpp>
#include <chrono>
#include <memory>
#include <nlohmann/json.hpp>
#include <string>

#include "cli/command.h"
#include "cli/output_files.h"
#include "lab/lab_comparison.h"
#include "report/json_value.h"
#include "sim/scenario.h"

namespace fairlead::cli {

namespace {

struct LabDemoOptions {
  std::string file = "scenarios/lab-eight-jobs.yaml";
  lab::LabComparisonOptions comparison;
  OutputOptions output;
};

Status RunDemo(LabDemoOptions options) {
  FL_ASSIGN_OR_RETURN(OutputFiles files, OutputFiles::Prepare(options.output));
  const auto begin = std::chrono::steady_clock::now();
  const std::string file = FindInputFile(options.file);
  FL_ASSIGN_OR_RETURN(const sim::Scenario scenario, sim::LoadScenario(file, {}));
  options.comparison.session.name = fmt::format("demo-{}", getpid());
  const auto say = [](const std::string& what) {
    if (isatty(STDERR_FILENO) != 0) fmt::print(stderr, "{} …\n", what);
  };
  FL_ASSIGN_OR_RETURN(const lab::LabComparison comparison,
                      lab::CompareInLab(file, scenario, options.comparison, say, StopRequested()));
  const double wall_s = std::chrono::duration<double>(std::chrono::steady_clock::now() - begin).count();
  files.Print(lab::RenderComparison(comparison) + fmt::format("took {:.0f} s; nothing of the lab is left\n", wall_s));
  files.WriteJson("JSON", [&] { return report::Dump(lab::ComparisonJson(comparison)); });
  return files.status();
}

}  // namespace

void AddLabDemoCommand(CLI::App* lab, Invocation* invocation) {
  const auto options = std::make_shared<LabDemoOptions>();
  options->comparison.session.lab.scale = 1e-4;
  CLI::App* demo = lab->add_subcommand("demo", "Compare real jobs under ECMP and under Fairlead in a temporary lab.");
  demo->add_option("SCENARIO", options->file, "Fabric and jobs in YAML")->capture_default_str();
  demo->add_option("--scale", options->comparison.session.lab.scale, "Factor on all speeds")->capture_default_str();
  demo->add_option("--seconds", options->comparison.seconds, "Seconds to measure in each run")
      ->check(CLI::Range(0.1, 86400.0))
      ->capture_default_str();
  demo->add_option("--seeds", options->comparison.num_seeds, "Labs to run, each with other ECMP hashes")
      ->check(CLI::Range(1, 1000))
      ->capture_default_str();
  demo->add_option("--seed", options->comparison.session.lab.hash_seed, "Seed of the first lab's hashes")
      ->capture_default_str();
  demo->add_option("--run-dir", options->comparison.session.run_folder, "Folder with the state of labs")
      ->type_name("FOLDER")
      ->capture_default_str();
  AddOutputOptions(demo, &options->output, "Write the result as JSON to FILE; - prints only JSON");
  demo->footer("Example: fairlead lab demo --seeds 3");
  demo->callback([options, invocation] {
    static_cast<void>(StopRequested());  // from here on Ctrl-C takes the lab down first
    const Status status = RunDemo(*options);
    if (!status.ok()) invocation->exit_code = ReportError(status);
  });
}

}  // namespace fairlead::cli
