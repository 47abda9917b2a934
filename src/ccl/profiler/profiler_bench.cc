// What a training process pays: nanoseconds of each callback, through the binary interface.
#include <benchmark/benchmark.h>

#include <cstdlib>
#include <memory>

#include "ccl/profiler/mock_nccl_example.h"

namespace fairlead::ccl {
namespace {

MockCommunicator<Version4>& Communicator() {
  static PluginLibrary library;
  static MockCommunicator<Version4> communicator(library, 1);
  return communicator;
}

// A message is five callbacks: begin, three states, end.
void BM_ProxyStep(benchmark::State& state) {
  auto& nccl = Communicator();
  void* send = nccl.StartProxyOperation(nccl.StartAllReduce(0), true);
  int number = 0;
  for (auto _ : state) nccl.Send(send, number++, 1 << 20);
  state.SetItemsProcessed(state.iterations() * 5);
  nccl.Stop(send);
}
BENCHMARK(BM_ProxyStep);

// While the receiver is not ready: as often as NCCL polls.
void BM_RepeatedState(benchmark::State& state) {
  auto& nccl = Communicator();
  void* send = nccl.StartProxyOperation(nccl.StartAllReduce(0), true);
  void* step = nccl.StartStep(send, 0);
  nccl.Record(step, nccl::kSendPeerWait);
  for (auto _ : state) nccl.Record(step, nccl::kSendPeerWait);
  state.SetItemsProcessed(state.iterations());
  nccl.Stop(send);
}
BENCHMARK(BM_RepeatedState);

// Enqueued, one kernel channel: five callbacks.
void BM_Operation(benchmark::State& state) {
  auto& nccl = Communicator();
  uint64_t sequence = 0;
  for (auto _ : state) {
    void* operation = nccl.StartAllReduce(sequence++);
    nccl.Stop(operation);
    void* kernel = nccl.StartKernel(operation, 0, 1000);
    nccl.Record(kernel, nccl::kKernelChannelStop, 2000);
    nccl.Stop(kernel);
  }
  state.SetItemsProcessed(state.iterations() * 5);
}
BENCHMARK(BM_Operation);

// Begin and end, on one of 64 connections.
void BM_ProxyOperation(benchmark::State& state) {
  auto& nccl = Communicator();
  void* operation = nccl.StartAllReduce(0);
  int i = 0;
  for (auto _ : state) {
    nccl.Stop(nccl.StartProxyOperation(operation, true, i % 8, static_cast<uint8_t>(i / 8 % 8)));
    ++i;
  }
  state.SetItemsProcessed(state.iterations() * 2);
}
BENCHMARK(BM_ProxyOperation);

}  // namespace
}  // namespace fairlead::ccl
