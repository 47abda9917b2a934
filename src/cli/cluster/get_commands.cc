// fairlead get, describe and watch: what a running cluster is like.
#include <fmt/format.h>

#include <CLI/CLI.hpp>
#include <algorithm>
#include <chrono>
#include <cstdio>
#include <functional>
#include <iterator>
#include <map>
#include <memory>
#include <nlohmann/json.hpp>
#include <string>
#include <thread>
#include <utility>
#include <vector>

#include "cli/cluster/cluster_commands.h"
#include "cli/cluster/cluster_query.h"
#include "cli/cluster/cluster_report.h"
#include "cli/command.h"
#include "cli/finding_sheet.h"
#include "cli/named_choice.h"
#include "cli/output_files.h"
#include "codec/field_rules.h"
#include "report/json_value.h"
#include "report/printable_text.h"
#include "service/controller/incident_trace.h"

namespace fairlead::cli {
namespace {

using report::Document;
using report::Json;

// Of the lists that descriptions search.
constexpr uint64_t kAllConnections = 1'000'000;
// Of one answer.
constexpr uint64_t kItemsOfPage = 10'000;

struct GetOptions {
  std::string what;
  std::string job;
  std::string state = {};     // of links and hosts
  std::string endpoint = {};  // of links
  std::string text = {};      // of links and hosts
  bool all = false;
  uint64_t limit = 1000;
  ControllerHttpOptions http;
  OutputOptions output;
};

// What a list is as a document, and as the controller gives it out.
struct Answer {
  Document document;
  Json json;
};

// Asks for `path` once, and makes a document of the record.
template <class Record>
Result<Answer> List(ControllerHttp* controller, const std::string& path, const auto& render) {
  FL_ASSIGN_OR_RETURN(Json json, controller->Get(path));
  FL_ASSIGN_OR_RETURN(Record record, controller->Read<Record>(json, path));
  return Answer{.document = render(std::move(record)), .json = std::move(json)};
}

// A long list, and all that the controller has said of it.
template <class List>
struct LongList {
  List list;
  Json json;
};

// As many pages as it takes, as if they were one. Args: name: of the list, as in /v1/NAME and in its answers.
template <class List, class Item>
Result<LongList<List>> AskForPages(ControllerHttp* controller, const std::string& name,
                                   const std::multimap<std::string, std::string>& parameters, uint64_t limit,
                                   std::vector<Item> List::*items) {
  LongList<List> all;
  do {
    auto wanted = parameters;
    wanted.emplace("limit", fmt::format("{}", std::min(kItemsOfPage, limit - (all.list.*items).size())));
    if (all.list.next) wanted.emplace("after", *all.list.next);
    const std::string path = ListPath(name, wanted);
    FL_ASSIGN_OR_RETURN(Json page, controller->Get(path));
    FL_ASSIGN_OR_RETURN(List read, controller->Read<List>(page, path));
    if ((read.*items).empty()) read.next.reset();
    if (all.json.is_null()) {
      all.json = std::move(page);
    } else {
      for (Json& item : page[name]) all.json[name].push_back(std::move(item));
      all.json["next"] = std::move(page["next"]);
    }
    std::vector<Item> before = std::move(all.list.*items);
    std::ranges::move(read.*items, std::back_inserter(before));
    all.list = std::move(read);
    all.list.*items = std::move(before);
  } while (all.list.next && (all.list.*items).size() < limit);
  return all;
}

// Those of the options that are set.
std::multimap<std::string, std::string> ParametersOf(const GetOptions& options) {
  std::multimap<std::string, std::string> parameters;
  const auto want = [&](const char* name, const std::string& value) {
    if (!value.empty()) parameters.emplace(name, value);
  };
  want("state", options.state);
  want("endpoint", options.endpoint);
  want("text", options.text);
  want("job", options.job);
  return parameters;
}

Result<Answer> ListLinks(ControllerHttp* controller, const GetOptions& options) {
  auto parameters = ParametersOf(options);
  if (!options.all) parameters.emplace("idle", "false");
  FL_ASSIGN_OR_RETURN(auto links, AskForPages(controller, "links", parameters, options.limit, &wire::LinkList::links));
  return Answer{.document = LinkTable(links.list), .json = std::move(links.json)};
}

Result<Answer> ListHosts(ControllerHttp* controller, const GetOptions& options) {
  auto parameters = ParametersOf(options);
  parameters.emplace("order", "worst");
  FL_ASSIGN_OR_RETURN(auto hosts, AskForPages(controller, "hosts", parameters, options.limit, &wire::HostList::hosts));
  return Answer{.document = HostTable(hosts.list, SecondsSince1970()), .json = std::move(hosts.json)};
}

// What is asked for that the list has not.
Status CheckOptions(const GetOptions& options) {
  const bool is_links = options.what == "links", is_hosts = options.what == "hosts";
  if (!options.endpoint.empty() && !is_links) {
    return InvalidArgument(fmt::format("--endpoint is for links, not for {}", options.what));
  }
  if ((!options.state.empty() || !options.text.empty()) && !is_links && !is_hosts) {
    return InvalidArgument(fmt::format("--state and --text are for links and hosts, not for {}", options.what));
  }
  if (!options.job.empty() && !is_links && options.what != "connections") {
    return InvalidArgument(fmt::format("--job is for connections and links, not for {}", options.what));
  }
  return OkStatus();
}

Result<Answer> AskFor(const GetOptions& options, ControllerHttp* controller) {
  if (options.what == "jobs") {
    return List<wire::JobList>(controller, "/v1/jobs", [](wire::JobList list) {
      SortByLoss(&list.jobs);
      return JobTable(list.jobs);
    });
  }
  if (options.what == "links") {
    return ListLinks(controller, options);
  }
  if (options.what == "hosts") {
    return ListHosts(controller, options);
  }
  if (options.what == "findings") {
    return List<wire::FindingList>(controller, "/v1/findings", [&](const wire::FindingList& list) {
      return FindingTable(list.findings, options.all);
    });
  }
  if (options.what == "events") {
    return List<wire::EventList>(controller, "/v1/events",
                                 [](const wire::EventList& list) { return EventTable(list.events); });
  }
  if (options.what == "sizes") {
    return List<wire::SizeList>(controller, "/v1/slurm",
                                [](const wire::SizeList& list) { return SizeTable(list.sizes); });
  }
  return List<wire::ConnectionList>(controller, ConnectionsPath(options.job, options.limit),
                                    [](const wire::ConnectionList& list) { return ConnectionTable(list); });
}

int RunGet(const GetOptions& options) {
  if (const Status status = CheckOptions(options); !status.ok()) return ReportError(status);
  auto files = OutputFiles::Prepare(options.output);
  if (!files.ok()) return ReportError(files.status());
  auto controller = ControllerHttp::Open(options.http);
  if (!controller.ok()) return ReportError(controller.status());
  const auto answer = AskFor(options, &*controller);
  if (!answer.ok()) return ReportError(answer.status());
  files->Print(answer->document);
  files->WriteJson("JSON", [&] { return report::Dump(answer->json); });
  return files->status().ok() ? kExitOk : ReportError(files->status());
}

struct DescribeOptions {
  std::string kind;
  std::string name;
  PageOptions page;
  std::string otlp;
  ControllerHttpOptions http;
  OutputOptions output;
};

Status NoSuch(const DescribeOptions& options, const std::string& list) {
  return InvalidArgument(fmt::format("the controller knows no {} '{}'; see `fairlead get {}`", options.kind,
                                     report::CleanText(options.name), list));
}

template <class Item>
const Item* FindNamed(const std::vector<Item>& items, const std::string& name) {
  const auto found = std::ranges::find(items, name, &Item::name);
  return found == items.end() ? nullptr : &*found;
}

std::string AccountPath(uint32_t job) { return fmt::format("/v1/slurm/account?job={}", job); }

// By its name, or by its number in Slurm, "slurm-4711": then it is what agents see of it, what Slurm shows of it, or
// both.
Result<Document> DescribeOneJob(const DescribeOptions& options, const ClusterState& state, ControllerHttp* controller) {
  const wire::LiveJob* job = FindNamed(state.jobs, options.name);
  const auto number = SlurmNumberOf(options.name);
  if (job == nullptr && number.has_value()) {
    const auto found = std::ranges::find_if(
        state.jobs, [&number](const wire::LiveJob& one) { return SlurmNumberOf(one.name) == number; });
    if (found != state.jobs.end()) job = &*found;
  }
  Document document;
  std::string why;
  if (number.has_value()) {
    const auto account = controller->Get<wire::SlurmAccount>(AccountPath(*number));
    if (!account.ok()) why = account.status().message();
    // A controller that chooses no sizes has none to show.
    const auto sizes = controller->Get<wire::SizeList>("/v1/slurm");
    const wire::SizedJob* size = nullptr;
    if (sizes.ok()) {
      const auto found = std::ranges::find(sizes->sizes, *number, &wire::SizedJob::job);
      if (found != sizes->sizes.end()) size = &*found;
    }
    if (account.ok()) document += DescribeSlurmJob(*account, size);
  }
  if (job == nullptr && document.empty()) {
    return why.empty() ? NoSuch(options, "jobs")
                       : InvalidArgument(fmt::format("{}; {}", why, NoSuch(options, "jobs").message()));
  }
  if (job == nullptr) {
    std::vector<wire::LiveFinding> findings;
    std::ranges::copy_if(state.findings, std::back_inserter(findings),
                         [&number](const wire::LiveFinding& finding) { return SlurmNumberOf(finding.job) == number; });
    if (!findings.empty()) document += "\nFindings\n\n" + FindingTable(findings, true);
    return document += "\nThe controller knows no connection of this job now.\n";
  }
  FL_ASSIGN_OR_RETURN(const wire::ConnectionList connections, AskForConnections(controller, job->name, 1000));
  if (!document.empty()) document += "\nOn the network\n\n";
  return document += DescribeJob(*job, state, connections);
}

Result<Document> Describe(const DescribeOptions& options, ControllerHttp* controller) {
  FL_ASSIGN_OR_RETURN(const ClusterState state, AskForState(controller));
  if (options.kind == "job") return DescribeOneJob(options, state, controller);
  wire::LinkList links;
  if (options.kind == "link") {
    FL_ASSIGN_OR_RETURN(links, controller->Get<wire::LinkList>(ListPath("links", {{"beside", options.name}})));
  }
  const wire::LiveLink* const link = FindNamed(links.links, options.name);
  if (options.kind == "link" && link == nullptr) return NoSuch(options, "links --all");
  wire::HostList hosts;
  if (options.kind == "host") {
    FL_ASSIGN_OR_RETURN(hosts, controller->Get<wire::HostList>(ListPath("hosts", {{"name", options.name}})));
  }
  const wire::LiveHost* const host = FindNamed(hosts.hosts, options.name);
  if (options.kind == "host" && host == nullptr) return NoSuch(options, "hosts");
  FL_ASSIGN_OR_RETURN(const wire::ConnectionList connections, AskForConnections(controller, "", kAllConnections));
  return link != nullptr ? DescribeLink(*link, connections) : DescribeHost(*host, state, connections);
}

int DescribeOneFinding(const DescribeOptions& options, ControllerHttp* controller) {
  auto files = OutputFiles::Prepare(options.output, {options.otlp}, options.page);
  if (!files.ok()) return ReportError(files.status());
  const bool is_number = !options.name.empty() && options.name.size() <= 9 &&
                         options.name.find_first_not_of("0123456789") == std::string::npos;
  if (!is_number) return ReportError(NoSuch(options, "findings --all"));
  const std::string path = "/v1/findings/" + options.name;
  const auto json = controller->Get(path);
  if (!json.ok()) return ReportError(json.status());
  const auto detail = controller->Read<wire::FindingDetail>(*json, path);
  if (!detail.ok()) return ReportError(detail.status());
  if (const std::string fault = codec::FindRecordFault(*detail); !fault.empty()) {
    return ReportError(Unavailable(path + " can't be read: " + fault));
  }
  // What was done about it: the controller may not steer, and then nothing was.
  report::Json log;
  if (!options.otlp.empty()) {
    const auto steering = controller->Get("/v1/steering");
    if (steering.ok()) log = steering->value("log", report::Json());
  }
  files->Print(DescribeFinding(*detail, UtcText));
  files->WritePage(options.page, [&] {
    return RenderFindingPage(*detail, UtcText,
                             fmt::format("Of the controller {}. Times are UTC.", options.http.server));
  });
  files->Write(options.otlp, "Trace", [&] {
    const auto now = std::chrono::system_clock::now().time_since_epoch();
    return report::Dump(service::IncidentTrace(*detail, log, std::chrono::duration<double>(now).count()));
  });
  files->WriteJson("JSON", [&] { return report::Dump(*json); });
  return files->status().ok() ? kExitOk : ReportError(files->status());
}

// What was done to a job of Slurm, as the controller says it.
int WriteAccount(const DescribeOptions& options, uint32_t job, ControllerHttp* controller) {
  auto files = OutputFiles::Prepare(options.output);
  if (!files.ok()) return ReportError(files.status());
  const auto json = controller->Get(AccountPath(job));
  if (!json.ok()) return ReportError(json.status());
  files->WriteJson("JSON", [&] { return report::Dump(*json); });
  return files->status().ok() ? kExitOk : ReportError(files->status());
}

int RunDescribe(const DescribeOptions& options) {
  auto controller = ControllerHttp::Open(options.http);
  if (!controller.ok()) return ReportError(controller.status());
  if (options.kind == "finding") return DescribeOneFinding(options, &*controller);
  const auto slurm_job = options.kind == "job" ? SlurmNumberOf(options.name) : std::nullopt;
  if (slurm_job.has_value() && !options.page.is_wanted() && options.otlp.empty() && !options.output.json.empty()) {
    return WriteAccount(options, *slurm_job, &*controller);
  }
  const bool is_for_findings = options.page.is_wanted() || !options.otlp.empty() || !options.output.json.empty();
  if (is_for_findings) {
    return ReportError(
        InvalidArgument(fmt::format("--html, --figures, --otlp and --json are for findings (and --json for jobs "
                                    "slurm-NUMBER); lists are JSON with `fairlead get {}s --json -`",
                                    options.kind)));
  }
  const auto document = Describe(options, &*controller);
  if (!document.ok()) return ReportError(document.status());
  fmt::print("{}", document->Render());
  return kExitOk;
}

struct WatchOptions {
  double period_s = 2;
  ControllerHttpOptions http;
};

// Prints what is new in both lists. Args: last_event, seen: what was printed, or was there at the start.
Status PrintNews(ControllerHttp* controller, uint64_t* last_event, std::map<uint64_t, bool>* seen, bool is_first) {
  FL_ASSIGN_OR_RETURN(const wire::EventList events, controller->Get<wire::EventList>("/v1/events"));
  FL_ASSIGN_OR_RETURN(const wire::FindingList findings, controller->Get<wire::FindingList>("/v1/findings"));
  // A controller that was started again counts from 1.
  if (!events.events.empty() && events.events.back().number < *last_event) *last_event = 0;
  for (const wire::LiveEvent& event : events.events) {
    if (event.number <= *last_event) continue;
    *last_event = event.number;
    if (is_first) continue;
    fmt::print("{} {:<7} {}: {}\n", event.time_s ? UtcText(*event.time_s) : std::string(19, ' '), event.severity,
               report::CleanText(event.subject), report::CleanText(event.text));
  }
  for (const wire::LiveFinding& finding : findings.findings) {
    const bool holds = !finding.cleared_at_s.has_value();
    const auto [known, is_new] = seen->try_emplace(finding.id, holds);
    if (!is_new && std::exchange(known->second, holds) == holds) continue;
    if (is_first && !holds) continue;
    fmt::print("{} finding {} {}: {}\n", UtcText((holds ? finding.confirmed_at_s : finding.cleared_at_s).value_or(0)),
               finding.id, holds ? finding.job : "is over", report::CleanText(finding.text));
  }
  std::fflush(stdout);
  return OkStatus();
}

int RunWatch(const WatchOptions& options) {
  auto controller = ControllerHttp::Open(options.http);
  if (!controller.ok()) return ReportError(controller.status());
  const std::atomic<bool>& stop = StopRequested();
  uint64_t last_event = 0;
  std::map<uint64_t, bool> seen;
  bool is_first = true;
  bool was_reached = true;
  while (!stop) {
    const Status status = PrintNews(&*controller, &last_event, &seen, is_first);
    // At the start a controller that does not answer is a mistake; later it is news.
    if (!status.ok() && is_first) return ReportError(status);
    if (status.ok() != was_reached)
      fmt::print(stderr, "fairlead: {}\n", status.ok() ? "the controller answers again" : status.message());
    was_reached = status.ok();
    is_first = false;
    const auto until = std::chrono::steady_clock::now() + std::chrono::duration<double>(options.period_s);
    while (!stop && std::chrono::steady_clock::now() < until)
      std::this_thread::sleep_for(std::chrono::milliseconds(50));
  }
  return InterruptedExitCode();
}

}  // namespace

void AddGetCommand(CLI::App& app, Invocation* invocation) {
  auto options = std::make_shared<GetOptions>();
  CLI::App* get = app.add_subcommand("get", "List what a running controller knows.");
  get->add_option("WHAT", options->what, "What to list")
      ->required()
      ->check(OneOf(std::vector<std::string>{"jobs", "links", "hosts", "findings", "connections", "events", "sizes"}));
  get->add_option("--job", options->job, "Only connections of that job, or links on its paths")->type_name("NAME");
  get->add_option("--state", options->state,
                  "Only links in that state (not_up: all that are less than whole), or hosts (needs_look: all that do)")
      ->type_name("STATE");
  get->add_option("--endpoint", options->endpoint, "Only links from or to that host, NIC or switch")->type_name("NAME");
  get->add_option("--text", options->text, "Only links or hosts whose name has TEXT")->type_name("TEXT");
  get->add_flag("--all", options->all, "Also findings that are over, and healthy links that nothing uses");
  get->add_option("--limit", options->limit, "Connections, hosts or links to list at most")
      ->check(CLI::Range(uint64_t{1}, kAllConnections))
      ->capture_default_str();
  AddServerOptions(get, &options->http);
  AddOutputOptions(get, &options->output, "Write the controller's answer as JSON to FILE; - prints only JSON");
  get->footer("Example: fairlead get jobs --server controller:8080 --token-file ~/.fairlead-token");
  get->callback([options, invocation] { invocation->exit_code = RunGet(*options); });
}

void AddDescribeCommand(CLI::App& app, Invocation* invocation) {
  auto options = std::make_shared<DescribeOptions>();
  CLI::App* describe = app.add_subcommand("describe", "Show all that a running controller knows of one thing.");
  describe->add_option("KIND", options->kind, "What it is")
      ->required()
      ->check(OneOf(std::vector<std::string>{"job", "link", "host", "finding"}));
  describe->add_option("NAME", options->name, "Its name; for a finding, its number; for a job of Slurm, slurm-NUMBER")
      ->required();
  AddPageOptions(describe, &options->page);
  describe
      ->add_option(
          "--otlp", options->otlp,
          "Write the incident, from suspicion to the first iteration, as a trace of OpenTelemetry (OTLP/JSON) to "
          "FILE; - prints only the trace")
      ->type_name("FILE");
  AddServerOptions(describe, &options->http);
  AddOutputOptions(describe, &options->output,
                   "Write the finding, or what was done to a job of Slurm, as JSON to FILE; - prints only "
                   "JSON");
  describe->footer(
      "Example: fairlead describe finding 7 --html finding-7.html\n"
      "         fairlead describe job slurm-4711 --server controller:8080");
  describe->callback([options, invocation] { invocation->exit_code = RunDescribe(*options); });
}

void AddWatchCommand(CLI::App& app, Invocation* invocation) {
  auto options = std::make_shared<WatchOptions>();
  CLI::App* watch = app.add_subcommand("watch", "Print events and findings of a running controller as they come.");
  watch->add_option("--period", options->period_s, "Time between two requests")
      ->type_name("SECONDS")
      ->check(CLI::Range(0.1, 3600.0))
      ->capture_default_str();
  AddServerOptions(watch, &options->http);
  watch->footer("Example: fairlead watch --server controller:8080\nCtrl-C ends it (exit code 130).");
  watch->callback([options, invocation] { invocation->exit_code = RunWatch(*options); });
}

}  // namespace fairlead::cli
