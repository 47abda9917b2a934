#include "execution/gradient_exchange.h"

namespace fairlead::execution {

using model::OperationKind;

std::vector<GradientExchange> GradientExchangesOf(const JobShape& shape) {
  std::vector<GradientExchange> exchanges;
  // Bucket b is b + 1 parts of the gradients: neighbours in the order differ in size, as they do in real models.
  const uint64_t buckets = shape.gradient_buckets;
  for (uint64_t b = 0; b < buckets && shape.data_parallel > 1; ++b) {
    const uint64_t bytes = shape.gradient_bytes * 2 * (b + 1) / (buckets * (buckets + 1));
    switch (shape.algorithm) {
      case DataParallelAlgorithm::kShardedRing:
        exchanges.push_back({OperationKind::kReduceScatter, bytes});
        exchanges.push_back({OperationKind::kAllGather, bytes});
        break;
      case DataParallelAlgorithm::kAllToAll:
        exchanges.push_back({OperationKind::kAllToAll, bytes});
        break;
      case DataParallelAlgorithm::kRing:
      case DataParallelAlgorithm::kTree:
        exchanges.push_back({OperationKind::kAllReduce, bytes});
    }
  }
  return exchanges;
}

Transfer TransferOf(const JobShape& shape, const GradientExchange& exchange) {
  const auto bytes = static_cast<double>(exchange.bytes);
  const uint32_t n = shape.data_parallel;
  Transfer transfer;
  switch (shape.algorithm) {
    case DataParallelAlgorithm::kRing:
      transfer.messages = 2 * (n - 1) * shape.messages_per_ring_step;
      transfer.bytes_per_message = bytes / shape.channels / n / shape.messages_per_ring_step;
      break;
    case DataParallelAlgorithm::kShardedRing:
      transfer.messages = (n - 1) * shape.messages_per_ring_step;
      transfer.bytes_per_message = bytes / shape.channels / n / shape.messages_per_ring_step;
      break;
    case DataParallelAlgorithm::kTree:
      transfer.messages = shape.messages_per_tree_edge;
      transfer.bytes_per_message = bytes / shape.channels / shape.messages_per_tree_edge;
      break;
    case DataParallelAlgorithm::kAllToAll:
      transfer.messages = shape.messages_per_pair;
      transfer.bytes_per_message = bytes / n / shape.messages_per_pair;
      break;
  }
  return transfer;
}

}  // namespace fairlead::execution
