// Faults of a simulated world: what breaks, when, and for how long.
#pragma once

#include <array>
#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "base/sim_time.h"
#include "base/status.h"

namespace fairlead::sim::chaos {

enum class FaultKind : uint8_t {
  kStream,      // the stream of a host breaks; what is on its way is lost
  kDelay,       // messages of a host take 100 times as long
  kAgent,       // the agent of a host is killed, and started again
  kController,  // the controller is killed, and started again
  kWrite,       // it is killed at its next write to the store, before or after
  kPause,       // the agent of a host is stopped, and continued
  kStall,       // the controller is stopped, and continued
  kClock,       // the controller's clock jumps, and back again
  kDisk,        // the disk of a host's agent is full
  kStore,       // the store of the controller is full
  kRules,       // the kernel of a host refuses to rewrite
  kCable,       // a cable between switches fails; routing goes around it after 200 ms
  kProcess,     // a training process of a host is killed
  kHost,        // a host loses power, and boots again
  kHang,        // a training process of a host stops where it is
  kSkew,        // the clock of a host jumps, and back again
  kLiar,        // somebody has the agent of a host, and its certificate; at the end it is started again
  kImpostor,    // a process of another user on a host writes telemetry that looks like that of a job
  kVersion,     // the agent of a host is replaced by one of the next version, and back again
};

// [value of FaultKind]
inline constexpr std::array<std::string_view, 19> kFaultNames = {
    "stream", "delay", "agent",   "controller", "write", "pause", "stall", "clock",    "disk",   "store",
    "rules",  "cable", "process", "host",       "hang",  "skew",  "liar",  "impostor", "version"};
// [value of FaultKind] for people.
inline constexpr std::array<std::string_view, 19> kFaultMeanings = {"the stream of a host; what is on its way is lost",
                                                                    "messages of a host take 100 times as long",
                                                                    "the agent of a host is killed",
                                                                    "the controller is killed",
                                                                    "the controller is killed at a write to its store",
                                                                    "the agent of a host is stopped for a while",
                                                                    "the controller is stopped for a while",
                                                                    "the controller's clock jumps, by up to two hours",
                                                                    "the disk of a host's agent is full",
                                                                    "the disk of the controller is full",
                                                                    "the kernel of a host takes no rules",
                                                                    "a cable between switches; routing goes around it",
                                                                    "a training process is killed",
                                                                    "a host loses power, and boots again",
                                                                    "a training process stops where it is",
                                                                    "the clock of a host jumps, by up to two hours",
                                                                    "the agent of a host says anything",
                                                                    "a process of another user poses as one of a job",
                                                                    "the agent of a host speaks the next version"};
inline std::string_view Name(FaultKind kind) { return kFaultNames[static_cast<size_t>(kind)]; }
std::vector<FaultKind> AllFaultKinds();

struct Fault {
  SimTime at;
  FaultKind kind = FaultKind::kStream;
  uint32_t target = 0;  // number of the host, or of the cable; modulo how many there are
  SimDuration lasts;    // where it has an end
  int64_t amount = 0;   // kClock, kSkew: ns; kWrite: 0 = before, else after

  friend bool operator==(const Fault&, const Fault&) = default;
};

// Faults at random times before `end`, ascending; all of them are over by then. Args: per_second: on average.
std::vector<Fault> DrawFaults(uint64_t seed, std::span<const FaultKind> kinds, double per_second, SimTime end);

}  // namespace fairlead::sim::chaos
