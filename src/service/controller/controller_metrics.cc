#include "service/controller/controller_metrics.h"

#include <prometheus/metric_family.h>
#include <prometheus/text_serializer.h>

#include <algorithm>
#include <array>
#include <utility>

#include "base/process_usage.h"

namespace fairlead::service {
namespace {

using Label = prometheus::ClientMetric::Label;

// Prometheus keeps "job" for itself: the target that was scraped.
constexpr char kJobLabel[] = "hpc_job";

class MetricList {
 public:
  void Counter(const std::string& name, const std::string& help, double value) {
    Family(name, help, prometheus::MetricType::Counter);
    Add({}, value);
  }
  void Gauge(const std::string& name, const std::string& help, double value) {
    Family(name, help, prometheus::MetricType::Gauge);
    Add({}, value);
  }
  // One with labels: Add() follows, for each of its series.
  void Family(const std::string& name, const std::string& help, prometheus::MetricType type) {
    families_.push_back({.name = name, .help = help, .type = type, .metric = {}});
  }
  void Add(std::vector<Label> labels, double value) {
    prometheus::ClientMetric metric;
    metric.label = std::move(labels);
    metric.counter.value = metric.gauge.value = value;
    families_.back().metric.push_back(std::move(metric));
  }
  std::string Write() const { return prometheus::TextSerializer().Serialize(families_); }

 private:
  std::vector<prometheus::MetricFamily> families_;
};

void AddProcess(const ControllerSnapshot& snapshot, MetricList* list) {
  list->Family("fairlead_build_info", "Always 1; the label has the version.", prometheus::MetricType::Gauge);
  list->Add({{"version", snapshot.version}}, 1);
  list->Counter("process_cpu_seconds_total", "User and system time of all threads, in seconds.", CpuSeconds());
  list->Gauge("fairlead_peak_memory_bytes", "Peak resident memory, in bytes.", PeakRssMb() * 1e6);
}

void AddStreams(const ControllerServerCounters& streams, MetricList* list) {
  list->Gauge("fairlead_streams", "Streams of agents that are open.", static_cast<double>(streams.num_streams));
  list->Counter("fairlead_streams_opened_total", "Streams that agents opened.", static_cast<double>(streams.opened));
  list->Counter("fairlead_streams_refused_total", "Streams refused: another host's certificate, or one too many.",
                static_cast<double>(streams.refused));
  list->Counter("fairlead_streams_unreadable_total", "Streams ended for a message that can't be read.",
                static_cast<double>(streams.unreadable));
  list->Counter("fairlead_streams_slow_total", "Streams ended because the agent did not read, or did not send.",
                static_cast<double>(streams.slow));
  list->Counter("fairlead_streams_throttled_total", "Times that an agent had to wait, having sent more than its share.",
                static_cast<double>(streams.throttled));
  list->Counter("fairlead_messages_received_total", "Messages of agents.", static_cast<double>(streams.messages_in));
  list->Counter("fairlead_messages_sent_total", "Messages to agents.", static_cast<double>(streams.messages_out));
}

void AddCertificate(const ControllerSnapshot& snapshot, MetricList* list) {
  list->Family("fairlead_certificate_expires_timestamp_seconds",
               "When the controller's certificate expires, or its authority's, in seconds since 1970.",
               prometheus::MetricType::Gauge);
  if (snapshot.certificate_expires_s) list->Add({}, static_cast<double>(*snapshot.certificate_expires_s));
}

void AddLoop(const ControllerSnapshot& snapshot, MetricList* list) {
  const LoopCounters& loop = snapshot.loop;
  list->Counter("fairlead_core_batches_total", "Batches of inputs that the core handled.",
                static_cast<double>(loop.batches));
  list->Counter("fairlead_core_inputs_total", "Inputs that the core handled.", static_cast<double>(loop.inputs));
  list->Counter("fairlead_core_handling_seconds_total", "Time that the core spent on them, in seconds.",
                loop.handling.value());
  list->Counter("fairlead_store_changes_total", "Records that were changed in the store.",
                static_cast<double>(loop.records_changed));
  list->Counter("fairlead_store_failures_total", "Times that the store could not keep a batch, which was tried again.",
                static_cast<double>(loop.store_failures));
  list->Gauge("fairlead_store_ok", "1: what happens is kept. 0: it is not, and agents wait.", snapshot.is_store_ok);
}

void AddJobs(const ControllerSnapshot& snapshot, MetricList* list) {
  list->Gauge("fairlead_hosts", "Hosts of the fabric.", static_cast<double>(snapshot.hosts.size()));
  list->Gauge("fairlead_hosts_connected", "Hosts whose agent has a stream.",
              static_cast<double>(std::count_if(snapshot.hosts.begin(), snapshot.hosts.end(),
                                                [](const auto& host) { return host.is_connected; })));
  list->Gauge("fairlead_jobs", "Jobs that have connections.", static_cast<double>(snapshot.jobs.size()));
  list->Family("fairlead_job_level", "Priority level of a job; 0 goes first.", prometheus::MetricType::Gauge);
  for (const auto& job : snapshot.jobs) list->Add({{kJobLabel, job.name}}, job.level);
  list->Family("fairlead_job_connections", "Connections of a job.", prometheus::MetricType::Gauge);
  for (const auto& job : snapshot.jobs) list->Add({{kJobLabel, job.name}}, job.num_connections);
  list->Family("fairlead_job_unmanaged_queue_pairs", "Queue pairs of a job without a path from Fairlead.",
               prometheus::MetricType::Gauge);
  for (const auto& job : snapshot.jobs) list->Add({{kJobLabel, job.name}}, job.num_unmanaged);
  list->Family("fairlead_job_iteration_seconds", "Time of an iteration of a job, as its hosts measured it.",
               prometheus::MetricType::Gauge);
  for (const auto& job : snapshot.jobs) {
    if (job.iteration_time) list->Add({{kJobLabel, job.name}}, job.iteration_time->value());
  }
  list->Family("fairlead_job_fastest_iteration_seconds",
               "Time of the fastest iteration of a job since this controller measures it.",
               prometheus::MetricType::Gauge);
  for (const auto& job : snapshot.jobs) {
    if (job.fastest_iteration) list->Add({{kJobLabel, job.name}}, job.fastest_iteration->value());
  }
  list->Family("fairlead_job_gpus", "GPUs of a job, as far as its hosts have measured it.",
               prometheus::MetricType::Gauge);
  for (const auto& job : snapshot.jobs) list->Add({{kJobLabel, job.name}}, job.num_gpus);
  list->Family("fairlead_job_lost_gpus",
               "GPUs' worth of time that a job loses at present, against its fastest iteration.",
               prometheus::MetricType::Gauge);
  for (const auto& job : snapshot.jobs) {
    if (const auto lost = job.lost_gpus()) list->Add({{kJobLabel, job.name}}, *lost);
  }
}

void AddPaths(const traffic::c4p::C4pCounters& paths, MetricList* list) {
  list->Counter("fairlead_path_requests_total", "Requests of connections for paths, repeated ones included.",
                static_cast<double>(paths.requests));
  list->Counter("fairlead_path_requests_refused_total", "Requests that can't be right.",
                static_cast<double>(paths.refused_requests));
  list->Counter("fairlead_leases_expired_total",
                "Leases (one job on one host) that expired without renewal; their paths were freed.",
                static_cast<double>(paths.leases_expired));
  list->Family("fairlead_path_moves_total", "Queue pairs whose answer changed, by cause.",
               prometheus::MetricType::Counter);
  for (size_t i = 0; i < traffic::kNumMoveCauses; ++i) {
    list->Add({{"cause", std::string(Name(static_cast<traffic::MoveCause>(i)))}}, static_cast<double>(paths.moves[i]));
  }
}

void AddLinks(std::span<const controller::LinkOnFabric> links, const topology::Fabric& fabric, MetricList* list) {
  list->Family("fairlead_links", "Links of the network, by state.", prometheus::MetricType::Gauge);
  for (const auto state : {traffic::LinkState::kUp, traffic::LinkState::kSuspect, traffic::LinkState::kDown,
                           traffic::LinkState::kProbation}) {
    const auto count = std::count_if(links.begin(), links.end(), [&](const auto& link) { return link.state == state; });
    list->Add({{"state", std::string(Name(state))}}, static_cast<double>(count));
  }
  // Healthy links have no series: a large fabric has a hundred thousand of them.
  list->Family("fairlead_link_health",
               "Fraction of its capacity that a link has left; links that have all are left out.",
               prometheus::MetricType::Gauge);
  for (const auto& link : links) {
    if (link.health < 1) list->Add({{"link", fabric.LinkName(link.link)}}, link.health);
  }
}

void AddFindings(const ControllerSnapshot& snapshot, MetricList* list) {
  list->Family("fairlead_findings", "Findings about jobs that hold, by syndrome.", prometheus::MetricType::Gauge);
  for (size_t i = 0; i < model::kNumSyndromes; ++i) {
    const auto count = std::count_if(snapshot.findings.begin(), snapshot.findings.end(), [&](const auto& watched) {
      return watched.finding.state == model::FindingState::kConfirmed &&
             watched.finding.syndrome == static_cast<model::Syndrome>(i);
    });
    list->Add({{"syndrome", std::string(model::Name(static_cast<model::Syndrome>(i)))}}, static_cast<double>(count));
  }
  list->Family("fairlead_findings_total", "Findings about jobs, by syndrome.", prometheus::MetricType::Counter);
  for (size_t i = 0; i < model::kNumSyndromes; ++i) {
    list->Add({{"syndrome", std::string(model::Name(static_cast<model::Syndrome>(i)))}},
              static_cast<double>(snapshot.watch.findings[i]));
  }
  list->Gauge("fairlead_watched_jobs", "Jobs of which agents see processes.",
              static_cast<double>(snapshot.watched_jobs.size()));
  list->Family("fairlead_watched_ranks", "Ranks of a job that are diagnosed.", prometheus::MetricType::Gauge);
  for (const auto& job : snapshot.watched_jobs) list->Add({{kJobLabel, job.name}}, static_cast<double>(job.num_ranks));
  list->Counter("fairlead_jobs_stopped_total", "Jobs all of whose processes ended at once, and not by themselves.",
                static_cast<double>(snapshot.watch.ends));
  list->Counter("fairlead_looks_total", "Times that agents looked at processes of a job.",
                static_cast<double>(snapshot.watch.looks));
  list->Counter("fairlead_looks_dropped_total", "Looks that were too many to be processed.",
                static_cast<double>(snapshot.watch.dropped_looks + snapshot.diagnosis.looks_dropped));
  list->Counter("fairlead_looks_foreign_total",
                "Looks at processes on hosts that the scheduler has not given to the job.",
                static_cast<double>(snapshot.watch.foreign_looks));
  list->Counter("fairlead_diagnosis_seconds_total", "Time spent on diagnosing, in seconds.",
                snapshot.diagnosis.handling.value());
}

void AddActions(const ControllerSnapshot& snapshot, MetricList* list) {
  using controller::HostCondition;
  using controller::JobCondition;
  const auto count = [](const auto& counts, const auto& key) {
    const auto found = counts.find(key);
    return found == counts.end() ? 0.0 : static_cast<double>(found->second);
  };
  const SteeringNumbers& steering = snapshot.steering;
  list->Gauge("fairlead_steering_ok", "1: actions are kept and logged. 0: they are not, and none is begun.",
              steering.is_ok);
  list->Family("fairlead_steering_hosts", "Hosts that steering has records of, by condition.",
               prometheus::MetricType::Gauge);
  for (const HostCondition condition : {HostCondition::kSpare, HostCondition::kReserved, HostCondition::kIsolating,
                                        HostCondition::kIsolated, HostCondition::kInDoubt}) {
    list->Add({{"condition", std::string(controller::Name(condition))}}, count(steering.hosts, condition));
  }
  list->Family("fairlead_steering_jobs", "Jobs that steering has records of, by condition.",
               prometheus::MetricType::Gauge);
  for (const JobCondition condition :
       {JobCondition::kRunning, JobCondition::kSteered, JobCondition::kWaitsForSpare, JobCondition::kNeedsOperator}) {
    list->Add({{"condition", std::string(controller::Name(condition))}}, count(steering.jobs, condition));
  }
  list->Family("fairlead_steering_attempts_total", "Attempts at actions that were begun, by step.",
               prometheus::MetricType::Counter);
  using Steps = std::array<std::string, 6>;
  for (const std::string& step :
       Steps{"isolate_host", "stop_job", "take_spare", "restart_job", "test_host", "return_host"}) {
    list->Add({{"step", step}}, count(steering.begun, step));
  }
  list->Counter("fairlead_health_events_total", "Health events that a receiver has taken.",
                static_cast<double>(snapshot.health_events.events_sent));
  list->Counter("fairlead_health_event_failures_total", "Messages of health events that were not taken.",
                static_cast<double>(snapshot.health_events.failures));
  list->Gauge("fairlead_health_events_waiting", "Health events that wait to be sent.",
              static_cast<double>(snapshot.health_events.waiting));
}

void AddIncidentTraces(const IncidentOutboxCounters& traces, MetricList* list) {
  list->Counter("fairlead_otlp_traces_total", "Traces of incidents that the collector has taken.",
                static_cast<double>(traces.sent));
  list->Counter("fairlead_otlp_given_up_total", "Traces of incidents that are not sent any more.",
                static_cast<double>(traces.given_up));
  list->Counter("fairlead_otlp_failures_total", "Requests that the collector has not taken.",
                static_cast<double>(traces.failures));
  list->Gauge("fairlead_otlp_waiting", "Traces of incidents that wait to be sent.",
              static_cast<double>(traces.waiting));
}

void AddScheduler(const SchedulerNumbers& scheduler, MetricList* list) {
  const auto count = [](const auto& counts, const std::string& what) {
    const auto found = counts.find(what);
    return found == counts.end() ? 0.0 : static_cast<double>(found->second);
  };
  list->Gauge("fairlead_scheduler_up", "1: the scheduler answered the last reading. 0: it did not, or there is none.",
              scheduler.answers ? 1 : 0);
  list->Counter("fairlead_scheduler_readings_total", "Readings of the scheduler.",
                static_cast<double>(scheduler.readings));
  list->Counter("fairlead_scheduler_reading_failures_total",
                "Readings without an answer, or with one that is not understood.",
                static_cast<double>(scheduler.failures));
  list->Counter("fairlead_scheduler_reading_seconds_total", "Time spent on readings, in seconds.",
                scheduler.reading.value());
  list->Family("fairlead_scheduler_jobs", "Jobs of the scheduler, by state.", prometheus::MetricType::Gauge);
  using States = std::array<std::string, 5>;
  for (const std::string& state : States{"pending", "configuring", "running", "suspended", "completing"}) {
    list->Add({{"state", state}}, count(scheduler.jobs, state));
  }
  list->Gauge("fairlead_scheduler_unknown_hosts", "Hosts that the scheduler has and the fabric does not.",
              static_cast<double>(scheduler.hosts_not_in_fabric));
  list->Gauge("fairlead_scheduler_stopped_jobs", "Jobs that are stopped by us, and not placed yet.",
              static_cast<double>(scheduler.jobs_stopped));
  list->Gauge("fairlead_scheduler_sized_jobs", "Elastic jobs whose number of nodes is chosen by us.",
              static_cast<double>(scheduler.jobs_sized));
  list->Gauge("fairlead_scheduler_sized_jobs_waiting", "Elastic jobs that have no nodes for now.",
              static_cast<double>(scheduler.jobs_sized_waiting));
  list->Counter("fairlead_scheduler_size_changes_total", "Starts, stops and changes of size of elastic jobs.",
                static_cast<double>(scheduler.size_changes));
  list->Gauge("fairlead_scheduler_actions", "Actions on the scheduler that are under way.",
              static_cast<double>(scheduler.actions_under_way));
  list->Family("fairlead_scheduler_actions_total", "Actions on the scheduler that have ended, by result.",
               prometheus::MetricType::Counter);
  using Results = std::array<std::string, 3>;
  for (const std::string& result : Results{"done", "failed", "refused"}) {
    list->Add({{"result", result}}, count(scheduler.actions, result));
  }
}

}  // namespace

std::string WriteMetrics(const ControllerSnapshot& snapshot, const topology::Fabric& fabric) {
  MetricList list;
  AddProcess(snapshot, &list);
  AddStreams(snapshot.streams, &list);
  AddCertificate(snapshot, &list);
  AddLoop(snapshot, &list);
  AddJobs(snapshot, &list);
  AddPaths(snapshot.paths, &list);
  AddLinks(snapshot.links, fabric, &list);
  AddFindings(snapshot, &list);
  AddActions(snapshot, &list);
  AddIncidentTraces(snapshot.incident_traces, &list);
  AddScheduler(snapshot.scheduler, &list);
  return list.Write();
}

}  // namespace fairlead::service
