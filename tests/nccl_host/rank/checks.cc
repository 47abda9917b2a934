#include "rank/checks.h"

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <cstdio>
#include <cstdlib>

#include "rank/job.h"
#include "rank/values.h"

namespace fairlead::nccl_host {
namespace {

constexpr std::byte kUntouched{0x5a};

}  // namespace

Checks::Checks(ncclComm_t communicator, int rank, int num_ranks, cudaStream_t stream)
    : communicator_(communicator), rank_(rank), num_ranks_(num_ranks), stream_(stream) {}

void Checks::Begin(ncclDataType_t type, ncclRedOp_t operation) {
  ++num_checks_;
  is_short_ = BytesOf(type) == 1;
  is_product_ = operation == ncclProd;
}

// Results of eight ranks are exact in each type: sums to 8 where it has 8 bits and to 120 elsewhere, also divided by
// the number of ranks, and products to 64.
double Checks::ValueOf(int rank, size_t i) const {
  uint64_t mixed = (uint64_t{i} << 16 ^ num_checks_ << 8 ^ static_cast<uint64_t>(rank)) * 0x9e3779b97f4a7c15;
  mixed ^= mixed >> 29;
  mixed *= 0xbf58476d1ce4e5b9;
  mixed >>= 40;
  if (is_product_) return rank < 6 && mixed % 2 == 1 ? 2 : 1;
  return static_cast<double>(mixed % (is_short_ ? 2 : 16));
}

double Checks::Reduced(ncclRedOp_t operation, ncclDataType_t type, size_t i) const {
  double result = ValueOf(0, i);
  for (int rank = 1; rank < num_ranks_; ++rank) {
    const double value = ValueOf(rank, i);
    switch (operation) {
      case ncclProd:
        result *= value;
        break;
      case ncclMin:
        result = std::min(result, value);
        break;
      case ncclMax:
        result = std::max(result, value);
        break;
      default:
        result += value;
    }
  }
  if (operation != ncclAvg) return result;
  const bool is_whole = type != ncclFloat16 && type != ncclFloat32 && type != ncclFloat64 && type != ncclBfloat16;
  return is_whole ? std::trunc(result / num_ranks_) : result / num_ranks_;
}

void Checks::PutInput(ncclDataType_t type, std::byte* to, size_t count, size_t first) {
  for (size_t i = 0; i < count; ++i) Put(type, to, i, ValueOf(rank_, first + i));
}

void Checks::Count(const std::string& name, size_t number) { counts_[name] += number; }

void Checks::Expect(const std::string& what, size_t i, double expected, double found) const {
  if (found == expected) return;
  fprintf(stderr, "rank %d of %d: %s: element %zu: expected %g, found %g\n", rank_, num_ranks_, what.c_str(), i,
          expected, found);
  exit(1);
}

void Checks::AllReduce(ncclDataType_t type, ncclRedOp_t operation, size_t count, bool in_place) {
  Begin(type, operation);
  const DeviceBuffer input(count * BytesOf(type)), output(count * BytesOf(type));
  std::byte* const to = in_place ? input.data() : output.data();
  PutInput(type, input.data(), count, 0);
  FAIRLEAD_NCCL(ncclAllReduce(input.data(), to, count, type, operation, communicator_, stream_));
  FAIRLEAD_NCCL(cudaStreamSynchronize(stream_));
  Count("AllReduce");
  for (size_t i = 0; i < count; ++i) {
    Expect("AllReduce of " + std::to_string(count) + " " + NameOf(type) + " by " + std::to_string(operation), i,
           Reduced(operation, type, i), Get(type, to, i));
  }
}

void Checks::AllGather(ncclDataType_t type, size_t count, bool in_place) {
  Begin(type, ncclSum);
  const size_t bytes = count * BytesOf(type);
  const DeviceBuffer separate(bytes), output(bytes * static_cast<size_t>(num_ranks_));
  std::byte* const input = in_place ? output.data() + static_cast<size_t>(rank_) * bytes : separate.data();
  PutInput(type, input, count, 0);
  FAIRLEAD_NCCL(ncclAllGather(input, output.data(), count, type, communicator_, stream_));
  FAIRLEAD_NCCL(cudaStreamSynchronize(stream_));
  Count("AllGather");
  for (int from = 0; from < num_ranks_; ++from) {
    for (size_t i = 0; i < count; ++i) {
      const size_t at = static_cast<size_t>(from) * count + i;
      Expect("AllGather of " + NameOf(type), at, ValueOf(from, i), Get(type, output.data(), at));
    }
  }
}

void Checks::ReduceScatter(ncclDataType_t type, ncclRedOp_t operation, size_t count, bool in_place) {
  Begin(type, operation);
  const size_t bytes = count * BytesOf(type);
  const DeviceBuffer input(bytes * static_cast<size_t>(num_ranks_)), separate(bytes);
  const size_t first = static_cast<size_t>(rank_) * count;
  std::byte* const output = in_place ? input.data() + first * BytesOf(type) : separate.data();
  PutInput(type, input.data(), count * static_cast<size_t>(num_ranks_), 0);
  FAIRLEAD_NCCL(ncclReduceScatter(input.data(), output, count, type, operation, communicator_, stream_));
  FAIRLEAD_NCCL(cudaStreamSynchronize(stream_));
  Count("ReduceScatter");
  for (size_t i = 0; i < count; ++i) {
    Expect("ReduceScatter of " + NameOf(type), i, Reduced(operation, type, first + i), Get(type, output, i));
  }
}

void Checks::Broadcast(ncclDataType_t type, size_t count, int root, bool in_place) {
  Begin(type, ncclSum);
  const DeviceBuffer input(count * BytesOf(type)), output(count * BytesOf(type));
  std::byte* const to = in_place ? input.data() : output.data();
  PutInput(type, input.data(), count, 0);
  FAIRLEAD_NCCL(ncclBroadcast(input.data(), to, count, type, root, communicator_, stream_));
  FAIRLEAD_NCCL(cudaStreamSynchronize(stream_));
  Count("Broadcast");
  for (size_t i = 0; i < count; ++i) Expect("Broadcast", i, ValueOf(root, i), Get(type, to, i));
}

void Checks::Reduce(ncclDataType_t type, ncclRedOp_t operation, size_t count, int root) {
  Begin(type, operation);
  const DeviceBuffer input(count * BytesOf(type));
  DeviceBuffer output(count * BytesOf(type));
  output.Fill(kUntouched);
  PutInput(type, input.data(), count, 0);
  FAIRLEAD_NCCL(ncclReduce(input.data(), output.data(), count, type, operation, root, communicator_, stream_));
  FAIRLEAD_NCCL(cudaStreamSynchronize(stream_));
  Count("Reduce");
  for (size_t i = 0; i < count; ++i) {
    if (rank_ == root) {
      Expect("Reduce at its root", i, Reduced(operation, type, i), Get(type, output.data(), i));
    } else {
      const std::byte found = output.data()[i * BytesOf(type)];
      Expect("Reduce elsewhere leaves the output alone", i, std::to_integer<int>(kUntouched),
             std::to_integer<int>(found));
    }
  }
}

void Checks::SendAround(size_t bytes) {
  Begin(ncclUint8, ncclSum);
  const int next = (rank_ + 1) % num_ranks_, previous = (rank_ + num_ranks_ - 1) % num_ranks_;
  const DeviceBuffer sent(bytes), received(bytes);
  PutInput(ncclUint8, sent.data(), bytes, 0);
  FAIRLEAD_NCCL(ncclGroupStart());
  FAIRLEAD_NCCL(ncclSend(sent.data(), bytes, ncclUint8, next, communicator_, stream_));
  FAIRLEAD_NCCL(ncclRecv(received.data(), bytes, ncclUint8, previous, communicator_, stream_));
  FAIRLEAD_NCCL(ncclGroupEnd());
  FAIRLEAD_NCCL(cudaStreamSynchronize(stream_));
  if (bytes > 0) Count("Send");
  if (bytes > 0) Count("Recv");
  for (size_t i = 0; i < bytes; ++i) Expect("SendAround", i, ValueOf(previous, i), Get(ncclUint8, received.data(), i));
}

void Checks::AllToAll(size_t unit) {
  Begin(ncclUint8, ncclSum);
  // From rank a to rank b: where it begins in the memory of each is that of the largest.
  const auto bytes_of = [&](int from, int to) { return unit * static_cast<size_t>((from + 2 * to) % 4); };
  const size_t stride = unit * 4;
  const DeviceBuffer sent(stride * static_cast<size_t>(num_ranks_)), received(stride * static_cast<size_t>(num_ranks_));
  PutInput(ncclUint8, sent.data(), sent.bytes(), 0);
  FAIRLEAD_NCCL(ncclGroupStart());
  for (int peer = 0; peer < num_ranks_; ++peer) {
    const size_t at = stride * static_cast<size_t>(peer);
    FAIRLEAD_NCCL(ncclSend(sent.data() + at, bytes_of(rank_, peer), ncclUint8, peer, communicator_, stream_));
    FAIRLEAD_NCCL(ncclRecv(received.data() + at, bytes_of(peer, rank_), ncclUint8, peer, communicator_, stream_));
  }
  FAIRLEAD_NCCL(ncclGroupEnd());
  FAIRLEAD_NCCL(cudaStreamSynchronize(stream_));
  for (int peer = 0; peer < num_ranks_; ++peer) {
    // Of others NCCL does not tell what becomes of them, so the library leaves them out.
    if (peer != rank_ && bytes_of(rank_, peer) > 0) Count("Send");
    if (peer != rank_ && bytes_of(peer, rank_) > 0) Count("Recv");
  }
  for (int peer = 0; peer < num_ranks_; ++peer) {
    const size_t at = stride * static_cast<size_t>(peer);
    for (size_t i = 0; i < bytes_of(peer, rank_); ++i) {
      Expect("AllToAll", at + i, ValueOf(peer, stride * static_cast<size_t>(rank_) + i),
             Get(ncclUint8, received.data() + at, i));
    }
  }
}

void Checks::Group(size_t count) {
  Begin(ncclFloat32, ncclSum);
  const size_t all = count * static_cast<size_t>(num_ranks_);
  const DeviceBuffer reduced(count * 4), small(4), gathered(all * 4), input(count * 4);
  PutInput(ncclFloat32, input.data(), count, 0);
  FAIRLEAD_NCCL(ncclGroupStart());
  FAIRLEAD_NCCL(ncclAllReduce(input.data(), reduced.data(), count, ncclFloat32, ncclSum, communicator_, stream_));
  FAIRLEAD_NCCL(ncclAllReduce(input.data(), small.data(), 1, ncclFloat32, ncclMax, communicator_, stream_));
  FAIRLEAD_NCCL(ncclAllGather(input.data(), gathered.data(), count, ncclFloat32, communicator_, stream_));
  FAIRLEAD_NCCL(ncclGroupEnd());
  FAIRLEAD_NCCL(cudaStreamSynchronize(stream_));
  Count("AllReduce", 2);
  Count("AllGather");
  Expect("Group, maximum", 0, Reduced(ncclMax, ncclFloat32, 0), Get(ncclFloat32, small.data(), 0));
  for (size_t i = 0; i < count; ++i) {
    Expect("Group, sum", i, Reduced(ncclSum, ncclFloat32, i), Get(ncclFloat32, reduced.data(), i));
    const int from = static_cast<int>(i) % num_ranks_;
    Expect("Group, gather", i, ValueOf(from, i),
           Get(ncclFloat32, gathered.data(), static_cast<size_t>(from) * count + i));
  }
}

void Checks::ScaledSum(size_t count, double factor) {
  Begin(ncclFloat32, ncclSum);
  const DeviceBuffer input(count * 4), output(count * 4), scale(4);
  PutInput(ncclFloat32, input.data(), count, 0);
  Put(ncclFloat32, scale.data(), 0, factor);
  ncclRedOp_t operation;
  FAIRLEAD_NCCL(ncclRedOpCreatePreMulSum(&operation, scale.data(), ncclFloat32, ncclScalarDevice, communicator_));
  FAIRLEAD_NCCL(ncclAllReduce(input.data(), output.data(), count, ncclFloat32, operation, communicator_, stream_));
  FAIRLEAD_NCCL(cudaStreamSynchronize(stream_));
  FAIRLEAD_NCCL(ncclRedOpDestroy(operation, communicator_));
  Count("AllReduce");
  for (size_t i = 0; i < count; ++i) {
    Expect("ScaledSum", i, factor * Reduced(ncclSum, ncclFloat32, i), Get(ncclFloat32, output.data(), i));
  }
}

}  // namespace fairlead::nccl_host
