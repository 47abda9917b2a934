// The cases of packet-level by three simulators: packets in ns-3, our packets, the fluid engine.
//
//     cmake --build build/release --target ns3_table && build/release/experiments/ns3_table --reduced
//
// Not a part of `fairlead experiment`, which must run where ns-3 is not installed.
#include <fmt/format.h>

#include <CLI/CLI.hpp>
#include <cstdio>
#include <exception>
#include <string>
#include <vector>

#include "base/random.h"
#include "experiments/packet-level/all_cases.h"
#include "experiments/packet-level/ns3_twin.h"
#include "experiments/packet-level/twin_errors.h"

namespace fairlead::experiments::packet_level {
namespace {

void PrintFamily(const CaseFamily& family, uint64_t seed) {
  std::vector<TwinErrors> fluid;    // against ns-3
  std::vector<TwinErrors> packets;  // against ns-3
  double ns3_s = 0;
  double packets_s = 0;
  double fluid_s = 0;
  uint64_t dropped = 0;
  const auto num_draws = static_cast<double>(family.draws.size());
  for (size_t d = 0; d < family.draws.size(); ++d) {
    const TwinCase& twin = family.draws[d];
    const Ns3Times ns3 = RunNs3(twin, CombineHash(seed, d));
    const TwinTimes ours = RunPackets(twin, CombineHash(seed, d));
    const TwinTimes flows = RunFluid(twin, true);
    ns3_s += AllArrived(ns3.times) / num_draws;
    packets_s += AllArrived(ours) / num_draws;
    fluid_s += AllArrived(flows) / num_draws;
    dropped += ns3.dropped;
    fluid.push_back(Compare(ns3.times, flows));
    packets.push_back(Compare(ns3.times, ours));
  }
  const TwinErrors of_fluid = Merge(fluid);
  const TwinErrors of_packets = Merge(packets);
  fmt::print("{:<36} {:9.3f} {:9.3f} {:9.3f} {:8.1f} {:8.1f} {:8.1f} {:8.1f} {:8.1f} {:7}\n", family.name, 1e3 * ns3_s,
             1e3 * packets_s, 1e3 * fluid_s, of_fluid.mean(), of_fluid.p99(), of_fluid.total, of_packets.mean(),
             of_packets.total, dropped);
}

int Main(int argc, char** argv) {
  CLI::App app("Times of the cases of packet-level by ns-3 (TCP with DCTCP), our packet model and the fluid engine.");
  bool reduced = false;
  uint32_t num_draws = 3;
  std::string only;
  app.add_flag("--reduced", reduced, "messages of 1 and 8 MB instead of 8 and 64 MB");
  app.add_option("--seeds", num_draws, "draws of a case, where something is drawn")->capture_default_str();
  app.add_option("--only", only, "cases whose name begins so, such as 'incast'");
  CLI11_PARSE(app, argc, argv);
  fmt::print("{:<36} {:>9} {:>9} {:>9} {:>8} {:>8} {:>8} {:>8} {:>8} {:>7}\n", "", "ns-3, ms", "ours, ms", "fluid, ms",
             "mean, %", "p99, %", "all, %", "mean, %", "all, %", "lost");
  fmt::print("{:<66} {:>26} {:>17}\n", "", "fluid with latency - ns-3", "ours - ns-3");
  constexpr uint64_t kSeed = 1;
  for (const CaseFamily& family : AllCases(kSeed, num_draws, reduced)) {
    if (family.name.starts_with(only)) PrintFamily(family, kSeed);
  }
  return 0;
}

}  // namespace
}  // namespace fairlead::experiments::packet_level

int main(int argc, char** argv) {
  try {
    return fairlead::experiments::packet_level::Main(argc, argv);
  } catch (const std::exception& error) {
    std::fputs(error.what(), stderr);
    return 1;
  }
}
