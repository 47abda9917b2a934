// Over which connections the ranks of a job exchange.
#pragma once

#include <array>
#include <cstdint>
#include <vector>

#include "execution/job_shape.h"
#include "execution/transfer_simulator.h"

namespace fairlead::execution {

// Which way a pipeline's data go.
enum PipelineDirection : uint8_t { kForward, kBackward };

struct JobRoutes {
  std::vector<Route> data;                  // [tensor + T * stage], of gradients; empty: there is one replica
  std::vector<Route> opening;               // [tensor]; empty: iterations have no opening
  std::array<std::vector<Route>, 2> stage;  // [PipelineDirection][sender]; without ranks where nothing is sent
};

// Args: layout: of a job of this shape (MakeLayout). Cost O(connections).
JobRoutes MakeJobRoutes(const JobShape& shape, const model::JobLayout& layout, TransferSimulator* simulator);

}  // namespace fairlead::execution
