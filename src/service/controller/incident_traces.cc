#include "service/controller/incident_traces.h"

#include <fmt/format.h>

#include <utility>

#include "service/controller/incident_trace.h"

namespace fairlead::service {

namespace {

constexpr SimDuration kIncidentLook = SimDuration(1'000'000'000);

}  // namespace

Result<std::unique_ptr<IncidentTraces>> IncidentTraces::Start(std::unique_ptr<OtlpHttp> collector,
                                                              const IncidentOutboxOptions& options, store::Store* store,
                                                              Surroundings surroundings) {
  std::unique_ptr<IncidentTraces> traces(new IncidentTraces(std::move(collector), std::move(surroundings)));
  OtlpHttp* const to = traces->collector_.get();
  FL_ASSIGN_OR_RETURN(traces->outbox_,
                      IncidentOutbox::Start(options,
                                            {.post = [to](const std::string& body) { return to->Post(body); },
                                             .stop = [to] { to->Stop(); },
                                             .note = traces->surroundings_.note},
                                            store));
  return traces;
}

void IncidentTraces::Look(SimTime now) {
  if (now < next_) return;
  next_ = now + kIncidentLook;
  const report::Json steering = surroundings_.steering();
  const auto findings = surroundings_.findings();
  for (const IncidentReporter::Incident& incident : incidents_.Look(now.seconds().value(), findings, steering)) {
    HandOut(incident, steering.value("log", report::Json::array()), now);
  }
}

void IncidentTraces::HandOut(const IncidentReporter::Incident& incident, const report::Json& log, SimTime now) {
  const auto detail = surroundings_.detail(incident.finding);
  if (!detail) return;  // it was the oldest of very many
  const report::Json trace = IncidentTrace(*detail, log, now.seconds().value());
  const std::string id = IncidentTraceId(*detail);
  const std::string label = fmt::format("finding {} of job {}", incident.finding.value(), detail->finding.job);
  const std::string body = trace.dump(-1, ' ', false, report::Json::error_handler_t::replace);
  if (incident.is_over) {
    outbox_->Send(id, label, body);
  } else {
    outbox_->Keep(id, label, body);
  }
}

}  // namespace fairlead::service
