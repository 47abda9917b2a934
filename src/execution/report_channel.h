// The way of reports from the agents to the diagnosis: they are late, get lost, arrive twice, damaged or in another
// order.
#pragma once

#include <cstdint>
#include <functional>
#include <vector>

#include "base/random.h"
#include "base/sim_time.h"
#include "execution/instant.h"
#include "execution/noise.h"
#include "model/telemetry.h"

namespace fairlead::execution {

// Receives records in order of arrival.
using EmitRecord = std::function<void(SimTime arrival, const model::TelemetryRecord&)>;

class ReportChannel {
 public:
  ReportChannel(const NoiseOptions& noise, uint64_t seed) : noise_(noise), random_(seed) {}

  // A report leaves its host at the true time `at`.
  void Send(Instant at, model::TelemetryRecord record);
  // Arrives at once, and surely.
  void SendReliably(Instant at, model::TelemetryRecord record) { Push(at, std::move(record)); }

  // Hands over what arrives up to `until`; nothing may be sent any more that leaves earlier.
  void Deliver(Instant until, const EmitRecord& emit);

 private:
  struct UnderWay {
    Instant arrival = 0;
    uint64_t number = 0;  // breaks ties: first sent, first arrived
    model::TelemetryRecord record;

    // For a heap with the earliest arrival on top.
    friend bool operator<(const UnderWay& a, const UnderWay& b) {
      return a.arrival != b.arrival ? a.arrival > b.arrival : a.number > b.number;
    }
  };

  // Cuts the lists of a rank's report at random places.
  void Truncate(model::TelemetryRecord& record);
  // The same report, in which operations have not ended or begun that had.
  model::TelemetryRecord Contradict(model::TelemetryRecord record);
  void Push(Instant arrival, model::TelemetryRecord record);
  Instant Delay();

  NoiseOptions noise_;
  Random random_;
  std::vector<UnderWay> heap_;
  uint64_t num_sent_ = 0;
};

}  // namespace fairlead::execution
