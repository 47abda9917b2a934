#include "execution/job_routes.h"

namespace fairlead::execution {

using model::CommunicatorId;
using model::RankId;

JobRoutes MakeJobRoutes(const JobShape& shape, const model::JobLayout& layout, TransferSimulator* simulator) {
  const CommunicatorIds ids(shape);
  JobRoutes routes;
  if (shape.data_parallel > 1) {
    for (uint32_t group = 0; group < shape.tensor_parallel * shape.pipeline_parallel; ++group) {
      const CommunicatorId id(ids.first_data + group);
      const std::vector<RankId>& ranks = layout.communicators[id.index()].ranks;
      routes.data.push_back(simulator->MakeRoute(id, ranks, DataParallelPattern(shape, ranks)));
    }
  }
  for (uint32_t tensor = 0; tensor < shape.tensor_parallel && shape.opening_bytes > 0; ++tensor) {
    if (shape.data_parallel < 2) break;
    const CommunicatorId id(ids.first_data + tensor);
    const std::vector<RankId>& ranks = layout.communicators[id.index()].ranks;
    routes.opening.push_back(simulator->MakeRoute(id, ranks, OpeningPattern(shape, ranks)));
  }
  for (auto& of_senders : routes.stage) of_senders.resize(shape.NumRanks());
  const uint32_t ranks_of_stage = shape.tensor_parallel * shape.data_parallel;
  for (uint32_t r = 0; r + ranks_of_stage < shape.NumRanks(); ++r) {
    const RankId upper(r);
    const RankId lower(r + ranks_of_stage);
    const CommunicatorId id = ids.Pipeline(upper);
    routes.stage[kForward][upper.index()] = simulator->MakeRoute(id, {upper, lower}, PairPattern(shape));
    routes.stage[kBackward][lower.index()] = simulator->MakeRoute(id, {lower, upper}, PairPattern(shape));
  }
  return routes;
}

}  // namespace fairlead::execution
