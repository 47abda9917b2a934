// fairlead init, check, schema: files to simulate, before they are simulated.
#include <fmt/format.h>

#include <CLI/CLI.hpp>
#include <filesystem>
#include <memory>
#include <nlohmann/json.hpp>
#include <string>
#include <vector>

#include "cli/command.h"
#include "cli/input_file_check.h"
#include "cli/named_choice.h"
#include "report/json_value.h"
#include "report/yaml_reference.h"
#include "sim/scenario_keys.h"
#include "sim/scenario_template.h"
#include "topology/address_book.h"
#include "topology/fabric_keys.h"

namespace fairlead::cli {

namespace {

// --- init

struct InitOptions {
  std::string name;
  std::string output;
  bool force = false;
};

int Init(const InitOptions& options) {
  const auto text = sim::ScenarioTemplate(options.name);
  if (!text.ok()) return ReportError(text.status());
  if (!options.force && !options.output.empty() && !IsStdout(options.output) &&
      std::filesystem::exists(options.output)) {
    return ReportError(InvalidArgument(
        fmt::format("{}: exists already; choose another name with -o, or replace it with --force", options.output)));
  }
  const std::string path = options.output.empty() ? "-" : options.output;
  if (const Status status = PrepareOutputFolder(path); !status.ok()) return ReportError(status);
  const std::string schema = "# yaml-language-server: $schema=" + FindInputFile("schemas/scenario.json") + "\n";
  if (const Status status = WriteOutput(path, schema + *text); !status.ok()) return ReportError(status);
  if (!IsStdout(path)) {
    fmt::print("{0} written. Next:\n  {2} check {0}\n  {2} {1}\n", path,
               options.name == "lab" ? fmt::format("lab up {} --scale 0.0001", path) : "sim run " + path, CalledAs());
  }
  return kExitOk;
}

void AddInit(CLI::App& app, Invocation* invocation) {
  auto options = std::make_shared<InitOptions>();
  CLI::App* init = app.add_subcommand("init", "Write a commented scenario to start from.");
  init->add_option("KIND", options->name,
                   "clos: leaves and spines; rail: rails and two planes; lab: eight hosts on this machine")
      ->required()
      ->check(OneOf({"clos", "rail", "lab"}));
  init->add_option("-o,--output", options->output, "Write to FILE instead of the terminal")->type_name("FILE");
  init->add_flag("--force", options->force, "Replace FILE if it exists");
  init->footer("Example: fairlead init clos -o my.yaml");
  init->callback([options, invocation] { invocation->exit_code = Init(*options); });
}

// --- check

struct CheckFilesOptions {
  std::vector<std::string> files;
  uint32_t num_gpus = 0;
  std::string json;
};

int CheckFiles(const CheckFilesOptions& options) {
  if (const Status status = PrepareOutputFolder(options.json); !status.ok()) return ReportError(status);
  const bool is_quiet = IsStdout(options.json);
  int exit_code = kExitOk;
  report::Json files = report::Json::array();
  InputFileChecker checker(options.num_gpus);
  for (const std::string& file : options.files) {
    const InputFileCheck check = checker.Check(FindInputFile(file));
    if (!check.status.ok()) {
      exit_code = ReportError(check.status);
    } else if (!is_quiet) {
      fmt::print("{}: {}, {}\n", file, check.kind, check.summary);
    }
    files.push_back({{"file", file},
                     {"kind", report::NameOrNull(check.kind)},
                     {"valid", check.status.ok()},
                     {"summary", report::NameOrNull(check.summary)},
                     {"error", report::NameOrNull(std::string(check.status.message()))}});
  }
  if (options.json.empty()) return exit_code;
  const Status written = WriteOutput(options.json, report::Dump({{"files", std::move(files)}}));
  return written.ok() ? exit_code : ReportError(written);
}

void AddCheck(CLI::App& app, Invocation* invocation) {
  auto options = std::make_shared<CheckFilesOptions>();
  CLI::App* check =
      app.add_subcommand("check", "Validate input files without running anything. Exits with 2 if one is wrong.");
  check
      ->add_option("FILE", options->files,
                   "Scenario, fabric, model profile or trace profile (YAML), trace or topology (CSV), addresses of the "
                   "fabric before it (JSON), SimAI workload or Chakra trace")
      ->required();
  check->add_option("--gpus", options->num_gpus, "GPUs of the job, for workloads whose files don't say")
      ->check(CLI::Range(1, 1'000'000'000));
  check->add_option("--json", options->json, "Write the result as JSON to FILE; - prints only JSON")->type_name("FILE");
  check->footer("Example: fairlead check my.yaml fabric.yaml addresses.json");
  check->callback([options, invocation] { invocation->exit_code = CheckFiles(*options); });
}

// --- schema

struct SchemaOptions {
  std::string name;
  bool page = false;
};

constexpr const char* kScenarioIntroduction =
    "# Keys of a scenario\n\n"
    "Generated from the reader: `fairlead schema scenario --page`. `fairlead init clos` writes a scenario to begin "
    "with, "
    "`fairlead check FILE`\nvalidates one. Editors that speak YAML take the schema from `schemas/scenario.json`:\n\n"
    "    # yaml-language-server: $schema=../schemas/scenario.json\n\n"
    "A number is in the unit of its key, or has one of its own: `250ms`, `16GB`, `400Gb/s`, `2:1`. Other files are "
    "named "
    "relative to the file\nthat names them.\n";
constexpr const char* kFabricIntroduction =
    "# Keys of a fabric file\n\n"
    "Generated from the reader: `fairlead schema fabric --page`. Scenarios have the same section under `fabric`.\n";

constexpr const char* kAddressesIntroduction =
    "# The addresses file\n\n"
    "Generated from the reader: `fairlead schema addresses --page`. JSON, one object with maps from IP addresses (IPv4 "
    "or IPv6) to names of the\nfabric. Each address appears once. `fairlead fabric import` writes it, `fairlead check "
    "FABRIC ADDRESSES` validates it, `fairlead controller\n--addresses` needs it.\n\n";

std::string AddressesPage() {
  std::string text = kAddressesIntroduction;
  text += "| key | whose addresses | value | example |\n| --- | --- | --- | --- |\n";
  for (const topology::AddressMapKey& key : topology::AddressMapKeys()) {
    text += fmt::format("| `{}` | {} | {} | `\"{}\": \"{}\"` |\n", key.name, key.meaning, key.named, key.address,
                        key.name_of_it);
  }
  return text;
}

// JSON Schema, draft 7: as strict as the reader, but for names that the fabric does not have.
report::Json AddressesSchema(const std::string& id) {
  report::Json properties = report::Json::object();
  for (const topology::AddressMapKey& key : topology::AddressMapKeys()) {
    const report::Json example = {{std::string(key.address), std::string(key.name_of_it)}};
    properties[std::string(key.name)] = {
        {"type", "object"},
        {"description", std::string(key.meaning)},
        {"propertyNames", {{"anyOf", report::Json::array({{{"format", "ipv4"}}, {{"format", "ipv6"}}})}}},
        {"additionalProperties", {{"type", "string"}, {"description", std::string(key.named)}}},
        {"examples", report::Json::array({example})}};
  }
  return {{"$schema", "http://json-schema.org/draft-07/schema#"},
          {"$id", id},
          {"title", "addresses file"},
          {"type", "object"},
          {"properties", std::move(properties)},
          {"additionalProperties", false}};
}

std::string TextOf(const SchemaOptions& options) {
  const std::string id = fmt::format("https://fairlead.invalid/schemas/{}.json", options.name);
  if (options.name == "addresses") return options.page ? AddressesPage() : report::Dump(AddressesSchema(id));
  const bool is_scenario = options.name == "scenario";
  const YamlMapKeys& keys = is_scenario ? sim::kScenarioKeys : topology::kFabricFileKeys;
  return options.page ? report::YamlReferencePage(keys, is_scenario ? kScenarioIntroduction : kFabricIntroduction)
                      : report::Dump(report::YamlSchema(keys, id));
}

int Schema(const SchemaOptions& options) {
  const Status written = WriteOutput("-", TextOf(options));
  return written.ok() ? kExitOk : ReportError(written);
}

void AddSchema(CLI::App& app, Invocation* invocation) {
  auto options = std::make_shared<SchemaOptions>();
  CLI::App* schema = app.add_subcommand("schema", "Print every key of a file format: a JSON schema, or a page.");
  schema
      ->add_option("FORMAT", options->name,
                   "scenario, fabric (a file whose only key is `fabric`), or addresses (of NICs and switches)")
      ->required()
      ->check(OneOf({"scenario", "fabric", "addresses"}));
  schema->add_flag("--page", options->page, "A page in Markdown instead of the JSON schema");
  schema->footer("Example: fairlead schema scenario > scenario.json");
  schema->callback([options, invocation] { invocation->exit_code = Schema(*options); });
}

}  // namespace

void AddScenarioFileCommands(CLI::App& app, Invocation* invocation) {
  AddInit(app, invocation);
  AddCheck(app, invocation);
  AddSchema(app, invocation);
}

}  // namespace fairlead::cli
