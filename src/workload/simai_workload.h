// Workload files of AICB / SimAI and of ASTRA-sim 1.0: one line per layer, as a sequence of collectives.
//
//     HYBRID_TRANSFORMER_FWD_IN_BCKWD model_parallel_NPU_group: 8 ep: 1 pp: 2 vpp: 1 ga: 4 all_gpus: 64 … pp_comm: 8
//     2
//     attention  -1  1750840 ALLGATHER 50331648  875420 REDUCESCATTER 50331648  875420 NONE 0  100
//     …
//     name, unused, then compute (ns), collective, bytes of forward, of the input gradient, of the weight gradient,
//     and the update time (ns). Columns are separated by spaces or tabs. The file is one rank of the first pipeline
//     stage, all micro-batches written out.
//
// Order     forward from the first layer to the last, then back: input gradient, weight gradient. Collectives
//           of forward and input gradient block; those of the weight gradient run beside the rest of the iteration.
// Policies  HYBRID_TRANSFORMER, HYBRID_TRANSFORMER_FWD_IN_BCKWD   groups by name: none = tensor (weight gradient:
//                                  data), _EP = expert, _DP_EP = expert data
//           DATA                   weight gradients only, among all ranks
//           MODEL                  forward and input gradient among all ranks; the latter beside the weight gradient of
//                                  its layer; none for the first layer
//           MICRO                  the collectives of the weight gradient column, one after the other, all ranks
// Bytes     the whole buffer of a rank: what it puts in (all-reduce, reduce-scatter, all-to-all) or gets out
//           (all-gather), as in collective_kind.h.
// Pipeline  pp_comm bytes a micro-batch (ga of them) between neighbouring stages, forward at the end of forward,
//           backward at the end of backward, blocking as in training_iteration.h.
// Left out  update times (AICB writes 100 ns), vpp (AICB writes the number of layers), the wait of a layer's
//           next forward pass for its own gradients: an iteration ends with its last collective. All are noted in the
//           sequence.
// Refused   activation checkpoints, the other policies and collectives, each with the list of what is supported.
// Reference public repositories aliyun/SimAI (astra-sim-alibabacloud, workload), aliyun/aicb, astra-sim/astra-sim 1.0.
#pragma once

#include <istream>
#include <string>

#include "base/status.h"
#include "collective/collective_sequence.h"

namespace fairlead::workload {

// Most layers of a file.
inline constexpr size_t kMaxSimaiLayers = 1'000'000;

// Args: `name` replaces the file in messages. Errors: kInvalidArgument with "name:line: what: expected …, found …";
// kUnimplemented for what the formats know and we don't. Cost: O(layers).
Result<collective::CollectiveSequence> ParseSimaiWorkload(std::istream& input, const std::string& name);

// Errors: kNotFound (no such file), and the above.
Result<collective::CollectiveSequence> LoadSimaiWorkload(const std::string& path);

}  // namespace fairlead::workload
