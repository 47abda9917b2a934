// One rank's Chakra execution trace (.et), read into plain values: a graph of computations and communications.
//
// File      messages one after the other, each behind its length as a varint: GlobalMetadata, then Node, Node, … .
//           Read as a stream: memory holds one message and the compact nodes.
// Schemas   0.0.4 (metadata {version, attributes}, or the attribute "schema" ending in chakra.0.0.4) and 1.0.0 (ending
//           in chakra.1.0.0, or nothing): same nodes. Others are refused.
// Nodes     COMP: duration_micros; without one, num_ops / peak and tensor_size / memory bandwidth, whichever is longer
//           (roofline; refused when no peak is given). is_cpu_op: takes no time, the host is taken to be ahead.
//           COMM_COLL: comm_type, comm_size, pg_name. COMM_SEND, COMM_RECV: comm_src, comm_dst, comm_size.
//           MEM_LOAD, MEM_STORE, METADATA, invalid: no time. Others are refused.
//           Both data and control dependencies count.
// Bytes     comm_size is what a rank puts in, for all-gather its own part (as PyTorch traces and ASTRA-sim have it).
// Groups    ranks by pg_name, from the process-group description that PyTorch traces carry ("process_group:init").
// Reference MLCommons Chakra, schema et_def.proto; public repository astra-sim/astra-sim, workload.
#pragma once

#include <cstdint>
#include <istream>
#include <map>
#include <string>
#include <vector>

#include "base/status.h"
#include "base/units.h"
#include "collective/collective_kind.h"

namespace fairlead::workload {

struct ChakraOptions {
  // Of the job; needed where one trace is used for all ranks and says "all ranks" without a number. 0 = unknown.
  uint32_t num_gpus = 0;
  // For nodes that give operations instead of time. 0 = refuse them. Raising it shortens compute.
  FlopPerSecond gpu_peak;
  // Bytes that such nodes can move a second; 0 = no limit.
  BytesPerSecond memory_bandwidth;
};

enum class ChakraNodeKind : uint8_t {
  kNothing,  // takes no time, passes dependencies on
  kCompute,
  kCollective,
  kSend,
  kReceive,
};

struct ChakraNode {
  uint64_t id = 0;
  ChakraNodeKind kind = ChakraNodeKind::kNothing;
  Seconds duration;                                                                            // kCompute
  collective::CollectiveKind collective = collective::CollectiveKind::kHierarchicalAllReduce;  // kCollective
  Bytes bytes;                                                                                 // comm_size
  std::string group;                   // pg_name; "" = none given
  uint32_t peer = 0;                   // kSend: to whom; kReceive: from whom
  std::vector<uint64_t> dependencies;  // ids
};

struct ChakraTrace {
  std::string name;  // of the file
  uint32_t rank = 0;
  std::vector<ChakraNode> nodes;                        // in the order of the file
  std::map<std::string, std::vector<uint32_t>> groups;  // ranks by pg_name; no ranks = all
  // What takes no time here.
  uint64_t num_memory_nodes = 0;
  uint64_t num_host_nodes = 0;
  Seconds host_time;
  uint64_t num_barriers = 0;
};

// Limits of one file; more is refused.
inline constexpr uint32_t kMaxChakraMessageBytes = 16u << 20;
inline constexpr size_t kMaxChakraNodes = 4'000'000;

// Args: `name` replaces the file in messages. Errors: kInvalidArgument (not such a file, cut off, a node without what
// it needs), kUnimplemented (known, not supported), kResourceExhausted; "name: node 12 'title': …". Cost: O(bytes).
Result<ChakraTrace> ReadChakraTrace(std::istream& input, const std::string& name, uint32_t rank,
                                    const ChakraOptions& options);

// Ranks by group from the JSON that goes beside traces of ASTRA-sim: {"1": [0, 1], "2": [2, 3]}.
Result<std::map<std::string, std::vector<uint32_t>>> ParseChakraGroups(const std::string& text,
                                                                       const std::string& name);

}  // namespace fairlead::workload
