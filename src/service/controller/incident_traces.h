// Traces of incidents, from what findings and steering say to a collector of OpenTelemetry.
//
//     findings, log of steering --> IncidentReporter --> IncidentTrace() --> IncidentOutbox --> OtlpHttp
#pragma once

#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "base/sim_time.h"
#include "base/status.h"
#include "controller/finding_book.h"
#include "service/controller/incident_outbox.h"
#include "service/controller/incident_reporter.h"
#include "service/controller/otlp_http.h"
#include "store/store.h"
#include "wire/finding_detail.h"

namespace fairlead::service {

class IncidentTraces {
 public:
  struct Surroundings {
    std::function<std::vector<controller::WatchedFinding>()> findings;
    std::function<std::optional<wire::FindingDetail>(model::FindingId)> detail;
    std::function<report::Json()> steering;  // as /v1/steering
    // What people should know; is_warning: or good news.
    std::function<void(bool is_warning, const std::string& text)> note;
  };

  // The store must outlive it. Errors: the store's.
  static Result<std::unique_ptr<IncidentTraces>> Start(std::unique_ptr<OtlpHttp> collector,
                                                       const IncidentOutboxOptions& options, store::Store* store,
                                                       Surroundings surroundings);

  // Hands out what is new. To be called about each second. Args: now since 1970, does not run backwards.
  void Look(SimTime now);
  IncidentOutboxCounters counters() const { return outbox_->counters(); }

 private:
  IncidentTraces(std::unique_ptr<OtlpHttp> collector, Surroundings surroundings)
      : collector_(std::move(collector)), surroundings_(std::move(surroundings)) {}

  void HandOut(const IncidentReporter::Incident& incident, const report::Json& log, SimTime now);

  std::unique_ptr<OtlpHttp> collector_;
  const Surroundings surroundings_;
  IncidentReporter incidents_;
  SimTime next_;
  std::unique_ptr<IncidentOutbox> outbox_;  // its thread uses the collector
};

}  // namespace fairlead::service
