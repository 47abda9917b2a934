// How fast the path service is, and how much memory it takes, against the size of the fabric: rail fabrics of up to
// 100,000 GPUs, as in topology_bench.cc (segments of 128 hosts of 8 NICs of two ports, two planes, 60 spines per pod
// and plane).
#include <benchmark/benchmark.h>

#include <map>
#include <memory>
#include <vector>

#include "base/random.h"
#include "topology/rail_fabric.h"
#include "traffic/c4p/c4p_master.h"

namespace fairlead::traffic::c4p {
namespace {

topology::RailSpec SpecOf(int64_t gpus) {
  topology::RailSpec spec;
  spec.pods = static_cast<uint32_t>((gpus + 14335) / 14336);
  spec.segments = 14;
  spec.hosts_per_segment = gpus < 14336 ? static_cast<uint32_t>(gpus / 8 / 14) : 128;
  spec.spines = 60;
  spec.cores = spec.pods > 1 ? 120 : 0;
  return spec;
}

const topology::Fabric& FabricOf(int64_t gpus) {
  static std::map<int64_t, std::unique_ptr<topology::Fabric>> fabrics;
  std::unique_ptr<topology::Fabric>& fabric = fabrics[gpus];
  if (!fabric) fabric = std::make_unique<topology::Fabric>(topology::BuildRail(SpecOf(gpus)).value());
  return *fabric;
}

// Connections of two queue pairs along rings over the hosts of a pod, one ring per rail: the data-parallel rings of a
// job. [host]
std::vector<std::vector<ConnectionRequest>> Rings(const topology::Fabric& fabric, uint32_t hosts, uint32_t per_nic) {
  std::vector<uint32_t> order(hosts);
  for (uint32_t h = 0; h < hosts; ++h) order[h] = h;
  Random random(3);
  random.Shuffle(std::span<uint32_t>(order));
  std::vector<std::vector<ConnectionRequest>> requests(hosts);
  for (uint32_t i = 0; i < hosts; ++i) {
    for (uint32_t c = 0; c < per_nic; ++c) {
      for (uint32_t nic = 0; nic < 8; ++nic) {
        const uint32_t from = order[i];
        const uint32_t to = order[(i + 1 + c) % hosts];
        requests[from].push_back({.connection = (uint64_t{from} * 8 + nic) * per_nic + c,
                                  .source = fabric.nic(HostId(from), nic),
                                  .destination = fabric.nic(HostId(to), nic),
                                  .num_queue_pairs = 2});
      }
    }
  }
  return requests;
}

std::vector<QueuePairRequest> BatchOf(const std::vector<std::vector<ConnectionRequest>>& hosts) {
  std::vector<QueuePairRequest> batch;
  for (const auto& connections : hosts) {
    for (const ConnectionRequest& c : connections) {
      for (uint32_t q = 0; q < c.num_queue_pairs; ++q) {
        batch.push_back({.connection = c.connection,
                         .queue_pair = q,
                         .num_queue_pairs = c.num_queue_pairs,
                         .source = c.source,
                         .destination = c.destination});
      }
    }
  }
  return batch;
}

std::vector<PathEvent> EventsOf(const std::vector<std::vector<ConnectionRequest>>& hosts) {
  std::vector<PathEvent> events;
  for (uint32_t h = 0; h < hosts.size(); ++h) {
    events.emplace_back(PathsRequested{.request = h, .host = HostId(h), .job = JobId(0), .connections = hosts[h]});
  }
  return events;
}

// One batch of a job of that many hosts, in a pod: 8 NICs, `per_nic` connections each, 2 QPs per connection.
void BM_Allocate(benchmark::State& state) {
  const topology::Fabric& fabric = FabricOf(state.range(0));
  const auto batch =
      BatchOf(Rings(fabric, static_cast<uint32_t>(state.range(1)), static_cast<uint32_t>(state.range(2))));
  for (auto _ : state) {
    state.PauseTiming();
    auto catalogue = std::make_unique<PathCatalogue>(fabric);
    auto allocator = std::make_unique<PathAllocator>(catalogue.get());
    state.ResumeTiming();
    benchmark::DoNotOptimize(allocator->Allocate(JobId(0), batch));
    state.PauseTiming();
    state.counters["imbalance"] = allocator->Imbalance();
    state.counters["allocator_MB"] = static_cast<double>(allocator->MemoryBytes()) / 1e6;
    allocator.reset();
    catalogue.reset();
    state.ResumeTiming();
  }
  state.SetItemsProcessed(static_cast<int64_t>(batch.size()) * static_cast<int64_t>(state.iterations()));
}
BENCHMARK(BM_Allocate)
    ->ArgNames({"gpus", "hosts", "per_nic"})
    ->Args({1'000, 112, 4})
    ->Args({14'336, 1'024, 1})
    ->Args({14'336, 1'024, 4})
    ->Args({14'336, 1'024, 61})  // 999,424 QPs
    ->Args({100'000, 1'024, 4})
    ->Unit(benchmark::kMillisecond);

// Without the rounds of probes, which cost the same whatever is asked.
C4pOptions WithoutProbes() {
  C4pOptions options;
  options.probes.max_probes_per_round = 1;
  return options;
}

// The same through the master: names, leases, ports and answers, too.
void BM_Request(benchmark::State& state) {
  const topology::Fabric& fabric = FabricOf(state.range(0));
  const auto events =
      EventsOf(Rings(fabric, static_cast<uint32_t>(state.range(1)), static_cast<uint32_t>(state.range(2))));
  for (auto _ : state) {
    state.PauseTiming();
    auto master = std::make_unique<C4pMaster>(fabric, WithoutProbes());
    state.ResumeTiming();
    auto actions = master->Handle(SimTime(0), events);
    state.PauseTiming();
    state.counters["unmanaged"] = static_cast<double>(master->num_unmanaged());
    actions.clear();
    master.reset();
    state.ResumeTiming();
  }
  state.SetItemsProcessed(state.range(1) * 16 * state.range(2) * static_cast<int64_t>(state.iterations()));
}
BENCHMARK(BM_Request)
    ->ArgNames({"gpus", "hosts", "per_nic"})
    ->Args({1'000, 112, 4})
    ->Args({14'336, 1'024, 1})
    ->Args({14'336, 1'024, 4})
    ->Args({14'336, 1'024, 61})
    ->Args({100'000, 1'024, 4})
    ->Unit(benchmark::kMillisecond);

// Memory of the catalogue, with the pairs of leaves that every host's ring neighbours use.
void BM_Catalogue(benchmark::State& state) {
  const topology::Fabric& fabric = FabricOf(state.range(0));
  Random random(1);
  for (auto _ : state) {
    PathCatalogue catalogue(fabric);
    const auto leaves = fabric.switches(topology::NodeKind::kLeaf);
    for (int i = 0; i < 200'000; ++i) {
      benchmark::DoNotOptimize(
          catalogue.Paths(leaves[random.Below(leaves.size())], leaves[random.Below(leaves.size())]));
    }
    state.counters["MB"] = static_cast<double>(catalogue.MemoryBytes()) / 1e6;
  }
  state.counters["leaves"] = static_cast<double>(fabric.switches(topology::NodeKind::kLeaf).size());
}
BENCHMARK(BM_Catalogue)->ArgName("gpus")->Arg(1'000)->Arg(14'336)->Arg(100'000)->Unit(benchmark::kMillisecond);

// Links from leaf to spine that carry something.
std::vector<LinkId> LoadedUplinks(const PathAllocator& allocator) {
  const topology::Fabric& fabric = allocator.catalogue().fabric();
  std::vector<LinkId> links;
  for (size_t l = 0; l < fabric.num_links(); ++l) {
    const LinkId link(l);
    if (fabric.tier(link) != topology::LinkTier::kLeafSpine || allocator.load(link) == 0) continue;
    if (fabric.kind(fabric.source(link)) == topology::NodeKind::kLeaf) links.push_back(link);
  }
  return links;
}

// Links of many leaves fail one after the other while 98,304 queue pairs are reserved: the allocator alone.
void BM_ReplanAllocator(benchmark::State& state) {
  const topology::Fabric& fabric = FabricOf(state.range(0));
  PathCatalogue catalogue(fabric);
  PathAllocator allocator(&catalogue);
  allocator.Allocate(JobId(0), BatchOf(Rings(fabric, 1024, 6)));
  const std::vector<LinkId> links = LoadedUplinks(allocator);
  size_t next = 0;
  size_t moved = 0;
  for (auto _ : state) {
    std::vector<ReservationId> stranded;
    allocator.SetHealth(links[next++ * 67 % links.size()], 0);
    moved += allocator.MoveOffUnhealthyLinks(&stranded).size();
  }
  state.counters["moved"] = benchmark::Counter(static_cast<double>(moved), benchmark::Counter::kAvgIterations);
}
BENCHMARK(BM_ReplanAllocator)
    ->ArgName("gpus")
    ->Arg(14'336)
    ->Arg(100'000)
    ->Unit(benchmark::kMillisecond)
    ->Iterations(50);

void BM_BalanceAll(benchmark::State& state) {
  const topology::Fabric& fabric = FabricOf(state.range(0));
  PathCatalogue catalogue(fabric);
  PathAllocator allocator(&catalogue);
  allocator.Allocate(JobId(0), BatchOf(Rings(fabric, 1024, 6)));
  for (auto _ : state) benchmark::DoNotOptimize(allocator.BalanceAll());
}
BENCHMARK(BM_BalanceAll)->ArgName("gpus")->Arg(14'336)->Arg(100'000)->Unit(benchmark::kMillisecond);

void BM_Imbalance(benchmark::State& state) {
  const topology::Fabric& fabric = FabricOf(state.range(0));
  PathCatalogue catalogue(fabric);
  PathAllocator allocator(&catalogue);
  allocator.Allocate(JobId(0), BatchOf(Rings(fabric, 1024, 6)));
  for (auto _ : state) benchmark::DoNotOptimize(allocator.Imbalance());
}
BENCHMARK(BM_Imbalance)->ArgName("gpus")->Arg(14'336)->Arg(100'000)->Unit(benchmark::kMillisecond);

// The same failures through the master, with its answers, and the ports to probe of all QPs that may hash elsewhere
// now.
void BM_ReplanMaster(benchmark::State& state) {
  const topology::Fabric& fabric = FabricOf(state.range(0));
  C4pMaster master(fabric, WithoutProbes());
  master.Handle(SimTime(0), EventsOf(Rings(fabric, 1024, 6)));
  const std::vector<LinkId> links = LoadedUplinks(master.allocator());
  size_t next = 0;
  for (auto _ : state) {
    const std::vector<PathEvent> down = {
        LinkReported{.link = links[next++ * 67 % links.size()], .health = 0, .source = "switch"}};
    benchmark::DoNotOptimize(master.Handle(SimTime(0), down));
  }
  const auto moved = static_cast<double>(master.counters().of(MoveCause::kLinkDown));
  state.counters["moved"] = benchmark::Counter(moved, benchmark::Counter::kAvgIterations);
}
BENCHMARK(BM_ReplanMaster)->ArgName("gpus")->Arg(14'336)->Arg(100'000)->Unit(benchmark::kMillisecond)->Iterations(50);

void BM_Heartbeat(benchmark::State& state) {
  LeaseTable table(SimDuration(60'000'000'000));
  for (uint32_t h = 0; h < 12'500; ++h) {
    for (uint32_t job = 0; job < 8; ++job) table.Grant({HostId(h), JobId(job)}, SimTime(0));
  }
  uint32_t host = 0;
  for (auto _ : state) {
    benchmark::DoNotOptimize(table.RenewAll(HostId(host), SimTime(1)));
    host = (host + 1) % 12'500;
  }
}
BENCHMARK(BM_Heartbeat);

}  // namespace
}  // namespace fairlead::traffic::c4p
