// What jobs would have alone on the fabric with all links healthy: times, speeds of each size, GPU intensity.
#pragma once

#include <vector>

#include "base/ids.h"
#include "base/status.h"
#include "controller/cluster_controller.h"
#include "model/flow.h"
#include "model/job.h"
#include "model/path.h"
#include "prediction/contended_speed.h"
#include "sim/solo_yardstick.h"
#include "topology/fabric.h"
#include "topology/router.h"
#include "traffic/link_traffic.h"
#include "traffic/traffic_policy.h"

namespace fairlead::sim {

// Bytes/s of payload of every link: capacity x health x goodput (network links only).
IdVector<LinkId, double> PayloadCapacities(const topology::Fabric& fabric, const topology::LinkHealth& health,
                                           double goodput);

class HealthyFabric {
 public:
  // Args: policies: those with choices that count (solo_yardstick.h); goodput: of links. The references must outlive
  // this.
  HealthyFabric(const topology::Fabric& fabric, std::vector<const traffic::TrafficPolicy*> policies, double goodput,
                const SoloYardstick::Options& options);
  HealthyFabric(const HealthyFabric&) = delete;
  HealthyFabric& operator=(const HealthyFabric&) = delete;

  const IdVector<LinkId, double>& capacities() const { return capacities_; }
  SoloYardstick& yardstick() { return yardstick_; }

  // Each size of the job, on as few hosts as possible, those with the lowest numbers. Errors: those of `iterations`.
  Result<std::vector<prediction::SpeedPoint>> ProfileAlone(const controller::IterationProvider& iterations,
                                                           const model::Job& job);
  // FLOP/s of a job on these paths; 0 without network traffic.
  double IntensityOf(JobId job, const model::Iteration& iteration, const std::vector<model::Path>& paths);

 private:
  const topology::Fabric& fabric_;
  topology::Router router_;
  IdVector<LinkId, double> capacities_;
  SoloYardstick yardstick_;
  traffic::LinkTable links_;
  traffic::LinkTrafficMeter meter_;
};

}  // namespace fairlead::sim
