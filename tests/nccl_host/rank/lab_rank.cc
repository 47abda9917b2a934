// nccl-lab-rank [--ccl=plugin] PLAN.json: one worker of a training job in the lab that communicates by real NCCL, as
// fairlead-trainer does by itself: the same plan, records, control file and exit codes (lab/trainer_process.h).
//
// A worker is one rank, and its host has one GPU. The communicators and operations are the plan's; which connections,
// channels, protocols and messages come of them is NCCL's to say, so the plan's own connections are not used.
// Computing is sleep on a stream. A phase's operations are one group on another stream; the host enqueues a whole
// iteration and waits for its end. NCCL loads the profiler plugin by itself, so --ccl=plugin asks for nothing.
//
//     computing      ---- to the phase's start ----*   waits, if it blocks   *---- to the next one's ...
//     communicating                                 \-- the phase's group --/
//
// Meeting     the first rank of a communicator leaves its unique id in a file beside the plan, named by the
//             communicator's id, which is another one at each start of the job
// NCCL        is given what this machine's lab needs, unless it is set: the host's identity, its interfaces, sockets
//             only, the algorithms and protocols that the kernels here can do
// Results     a sum of all-reduce is compared with what it has to be
#include <arpa/inet.h>
#include <fmt/format.h>
#include <ifaddrs.h>
#include <unistd.h>

#include <algorithm>
#include <atomic>
#include <chrono>
#include <csignal>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <filesystem>
#include <memory>
#include <numeric>
#include <optional>
#include <string>
#include <string_view>
#include <thread>
#include <utility>
#include <vector>

#include "base/file_reader.h"
#include "base/steady_seconds.h"
#include "lab/trainer/checkpoint.h"
#include "lab/trainer/simulated_gpus.h"
#include "lab/trainer/trainer_control.h"
#include "lab/trainer/trainer_plan.h"
#include "rank/job.h"

namespace fairlead::nccl_host {
namespace {

using lab::OperationPlan;
using lab::PhasePlan;
using lab::TrainerPlan;

constexpr int kExitBadInput = 2;
constexpr int kExitUnavailable = 3;
constexpr std::chrono::milliseconds kPollPeriod{2};
// How long a worker stays when NCCL has lost a peer, as trainers do that write down first what they were doing.
constexpr double kLostPeerPatience = 30;

// Messages of a lab are as much smaller than those of a fabric as its links are slower. What the kernel holds of them
// has to be small, too: with the buffers of a fabric it would take an iteration's messages at once, and no one would
// see how long they are on their way. The kernel doubles both.
constexpr int kSendBufferBytes = 16 * 1024;
constexpr int kReceiveBufferBytes = 32 * 1024;

std::atomic<bool> stop_requested = false;

extern "C" void HandleStopSignal(int) { stop_requested.store(true, std::memory_order_relaxed); }

std::string Variable(const char* name) {
  const char* const value = std::getenv(name);
  return value == nullptr ? "" : value;
}

void PrintRecord(const std::string& line) {
  fmt::print("{}\n", line);
  std::fflush(stdout);
}

// Threads of NCCL and streams may be stuck: nobody waits for them.
[[noreturn]] void End(int code) {
  std::fflush(nullptr);
  _exit(code);
}

// "=nic0,nic1": those with the addresses that the plan has for this host (lab_interfaces.cc). Empty: none.
std::string InterfacesOf(const TrainerPlan& plan) {
  ifaddrs* all = nullptr;
  if (getifaddrs(&all) != 0) return "";
  std::string names;
  for (const ifaddrs* entry = all; entry != nullptr; entry = entry->ifa_next) {
    if (entry->ifa_addr == nullptr || entry->ifa_addr->sa_family != AF_INET) continue;
    char text[INET_ADDRSTRLEN] = {};
    inet_ntop(AF_INET, &reinterpret_cast<const sockaddr_in*>(entry->ifa_addr)->sin_addr, text, sizeof text);
    if (std::ranges::find(plan.listen_addresses, text) == plan.listen_addresses.end()) continue;
    names += (names.empty() ? "=" : ",") + std::string(entry->ifa_name);
  }
  freeifaddrs(all);
  return names;
}

// Variables that NCCL and the plugin read; those that are set already stay so.
void SetEnvironment(const TrainerPlan& plan) {
  const std::pair<const char*, std::string> variables[] = {
      {"RANK", std::to_string(plan.worker)},
      {"WORLD_SIZE", std::to_string(plan.num_workers)},
      {"FAIRLEAD_JOB", plan.job},
      {"NCCL_HOSTID", plan.listen_addresses.front()},
      {"NCCL_SOCKET_IFNAME", InterfacesOf(plan)},
      {"NCCL_NET", "Socket"},
      {"NCCL_NET_PLUGIN", "none"},
      {"NCCL_IB_DISABLE", "1"},
      {"NCCL_RAS_ENABLE", "0"},
      {"NCCL_DEBUG", "WARN"},
      {"NCCL_DEBUG_FILE", "/dev/stderr"},  // standard output is for records
      {"NCCL_ALGO", "Ring,Tree"},
      {"NCCL_PROTO", "Simple,LL"},
      {"NCCL_SOCKET_SNDBUF", std::to_string(kSendBufferBytes)},
      {"NCCL_SOCKET_RCVBUF", std::to_string(kReceiveBufferBytes)},
      {"FAIRLEAD_TCP_UNSENT_BYTES", std::to_string(kSendBufferBytes)},
  };
  for (const auto& [name, value] : variables) setenv(name, value.c_str(), 0);
}

// Sleeps in pieces, so that a signal ends it.
void SleepFor(double seconds) {
  const double end_s = SteadySeconds() + seconds;
  for (double now_s = SteadySeconds(); !stop_requested && now_s < end_s; now_s = SteadySeconds()) {
    std::this_thread::sleep_for(std::chrono::duration<double>(std::min(0.05, end_s - now_s)));
  }
}

// ---- On streams ----

void Put(cudaStream_t stream, cudaHostFn_t function, void* data) {
  FAIRLEAD_NCCL(cudaLaunchHostFunc(stream, function, data));
}

void Compute(cudaStream_t stream, double seconds) {
  const auto sleep = [](void* data) {
    const std::unique_ptr<double> wanted(static_cast<double*>(data));
    std::this_thread::sleep_for(std::chrono::duration<double>(*wanted));
  };
  if (seconds > 0) Put(stream, sleep, new double(seconds));
}

// An instant at which a stream came by; 0: it has not.
using Instant = std::atomic<double>;

void Note(cudaStream_t stream, Instant* instant) {
  Put(
      stream, [](void* data) { static_cast<Instant*>(data)->store(SteadySeconds()); }, instant);
}

// ---- What communicates ----

class Communicators {
 public:
  // In the order of ids, so that no two workers wait for each other in different ones.
  Communicators(const TrainerPlan& plan, const std::string& folder) : all_(plan.communicators.size()) {
    std::vector<size_t> order(all_.size());
    std::iota(order.begin(), order.end(), size_t{0});
    std::ranges::sort(order, {}, [&](size_t c) { return plan.communicators[c].id; });
    for (const size_t c : order) {
      const lab::CommunicatorPlan& communicator = plan.communicators[c];
      const auto self = std::ranges::find(communicator.workers, plan.worker);
      const Place place{.rank = static_cast<int>(self - communicator.workers.begin()),
                        .num_ranks = static_cast<int>(communicator.workers.size())};
      all_[c] = Join(place, fmt::format("{}/communicator-{:016x}", folder, communicator.id), communicator.name.c_str());
    }
  }

  ncclComm_t operator[](size_t index) const { return all_[index]; }
  // What NCCL says of a peer that it has lost, or of another failure; nothing: all is well.
  std::optional<std::string> FindFailure() const {
    for (const ncclComm_t communicator : all_) {
      ncclResult_t result = ncclSuccess;
      ncclCommGetAsyncError(communicator, &result);
      if (result != ncclSuccess && result != ncclInProgress) return Explain(result);
    }
    return std::nullopt;
  }
  static std::string Explain(ncclResult_t result) {
    return fmt::format("NCCL: {}: {}", ncclGetErrorString(result), ncclGetLastError(nullptr));
  }
  void Leave() const {
    for (const ncclComm_t communicator : all_) FAIRLEAD_NCCL(ncclCommDestroy(communicator));
  }

 private:
  std::vector<ncclComm_t> all_;  // [communicator of the plan]
};

// One operation of the plan, with its memory.
class Operation {
 public:
  Operation(const OperationPlan& plan, ncclComm_t communicator, size_t num_ranks)
      : plan_(plan), communicator_(communicator), num_ranks_(num_ranks), buffer_(CountOf() * PartsOf()) {}

  ncclResult_t Call(cudaStream_t stream) {
    std::byte* const data = buffer_.data();
    const size_t count = CountOf();
    if (plan_.function == "Send") return ncclSend(data, count, ncclUint8, plan_.peer, communicator_, stream);
    if (plan_.function == "Recv") return ncclRecv(data, count, ncclUint8, plan_.peer, communicator_, stream);
    if (plan_.function == "Broadcast") return ncclBroadcast(data, data, count, ncclUint8, 0, communicator_, stream);
    if (plan_.function == "AllGather") return ncclAllGather(Part(), data, count, ncclUint8, communicator_, stream);
    if (plan_.function == "ReduceScatter") {
      return ncclReduceScatter(data, Part(), count, ncclUint8, ncclSum, communicator_, stream);
    }
    buffer_.Fill(std::byte{1});
    return ncclAllReduce(data, data, count, ncclUint8, ncclSum, communicator_, stream);
  }

  // Once it is done: the sum of each rank's one.
  bool IsRight() const {
    if (plan_.function != "AllReduce") return true;
    const auto expected = static_cast<std::byte>(num_ranks_);
    return std::all_of(buffer_.data(), buffer_.data() + buffer_.bytes(), [&](std::byte b) { return b == expected; });
  }

 private:
  // Of gathers the plan has all bytes, and a call the part of a rank.
  size_t PartsOf() const { return plan_.function == "AllGather" || plan_.function == "ReduceScatter" ? num_ranks_ : 1; }
  size_t CountOf() const { return std::max<size_t>(1, plan_.bytes / PartsOf()); }
  std::byte* Part() const {
    int rank = 0;
    FAIRLEAD_NCCL(ncclCommUserRank(communicator_, &rank));
    return buffer_.data() + static_cast<size_t>(rank) * CountOf();
  }

  const OperationPlan& plan_;
  ncclComm_t communicator_;
  size_t num_ranks_;
  DeviceBuffer buffer_;
};

// ---- The worker ----

// When what of an iteration was.
struct PhaseInstants {
  Instant reached{0};  // by computing
  Instant began{0};
  Instant ended{0};
  Instant left{0};  // by computing: reached, unless the phase blocks it
};
struct IterationInstants {
  explicit IterationInstants(size_t num_phases) : phases(num_phases) {}
  double begin_s = SteadySeconds();
  std::vector<PhaseInstants> phases;  // as done
  Instant computed{0};
};

class Worker {
 public:
  Worker(const TrainerPlan& plan, const std::string& folder) : plan_(plan), communicators_(plan, folder) {
    FAIRLEAD_NCCL(cudaStreamCreateWithFlags(&computing_, cudaStreamNonBlocking));
    FAIRLEAD_NCCL(cudaStreamCreateWithFlags(&communicating_, cudaStreamNonBlocking));
    FAIRLEAD_NCCL(cudaEventCreateWithFlags(&event_, cudaEventDisableTiming));
    for (const PhasePlan& phase : plan.phases) {
      std::vector<std::unique_ptr<Operation>>& operations = operations_.emplace_back();
      for (const OperationPlan& operation : phase.operations) {
        const size_t c = operation.communicator;
        operations.push_back(
            std::make_unique<Operation>(operation, communicators_[c], plan.communicators[c].workers.size()));
      }
    }
  }

  // False: it did not end, because of a stop or of a failure.
  bool Iterate(uint64_t index) {
    const lab::TrainerRequests& requests = control_.Look();
    const std::vector<size_t> order = OrderOf(requests.bad_order);
    IterationInstants instants(order.size());
    // The host thread waits for samples, or does something else: it has enqueued nothing.
    SleepFor(requests.loader_s + control_.TakePause());
    double clock_s = 0;
    for (size_t p = 0; p < order.size(); ++p) {
      const PhasePlan& at = plan_.phases[p];
      const double start_s = std::max(clock_s, at.start_fraction * plan_.compute_s);
      Compute(computing_, start_s - clock_s + requests.busy_s);
      clock_s = start_s;
      if (!Communicate(order[p], at.blocks_compute, &instants.phases[p])) return false;
    }
    Compute(computing_, plan_.compute_s - clock_s);
    Note(computing_, &instants.computed);
    const bool is_over = Wait();
    const double end_s = SteadySeconds();
    if (is_over) CheckResults(index);
    if (is_over || records_phases_) {
      PrintRecord(RecordOf(is_over ? "iteration" : "unfinished", index, end_s, order, instants));
    }
    return is_over;
  }

  void Leave() const { communicators_.Leave(); }
  // Empty: nothing has failed.
  const std::string& failure() const { return failure_; }

 private:
  // In the wrong order the first two that communicate have changed places, each at the other one's time.
  std::vector<size_t> OrderOf(bool bad_order) const {
    std::vector<size_t> order(plan_.phases.size());
    std::iota(order.begin(), order.end(), size_t{0});
    std::vector<size_t> talking;
    for (const size_t p : order) {
      if (!plan_.phases[p].operations.empty()) talking.push_back(p);
    }
    if (bad_order && talking.size() >= 2) std::swap(order[talking[0]], order[talking[1]]);
    return order;
  }

  // Enqueues a phase: after what computes now, and before what computes next if it blocks.
  bool Communicate(size_t phase, bool blocks_compute, PhaseInstants* instants) {
    Note(computing_, &instants->reached);
    After(computing_, communicating_);
    Note(communicating_, &instants->began);
    ncclResult_t result = ncclGroupStart();
    for (const auto& operation : operations_[phase]) {
      if (result == ncclSuccess) result = operation->Call(communicating_);
    }
    if (result == ncclSuccess) result = ncclGroupEnd();
    if (result != ncclSuccess) {
      failure_ = Communicators::Explain(result);
      return false;
    }
    Compute(communicating_, plan_.phases[phase].local_s);
    Note(communicating_, &instants->ended);
    if (blocks_compute) After(communicating_, computing_);
    Note(computing_, &instants->left);
    return true;
  }

  // Until both streams have done what is on them.
  bool Wait() {
    while (cudaStreamQuery(computing_) != cudaSuccess || cudaStreamQuery(communicating_) != cudaSuccess) {
      if (stop_requested) return false;
      if (const auto failure = communicators_.FindFailure()) {
        failure_ = *failure;
        return false;
      }
      std::this_thread::sleep_for(kPollPeriod);
    }
    return true;
  }

  void CheckResults(uint64_t index) const {
    for (const auto& operations : operations_) {
      for (const auto& operation : operations) {
        if (operation->IsRight()) continue;
        fmt::print(stderr, "job {}: worker {}, iteration {}: a sum is wrong\n", plan_.job, plan_.worker, index);
        End(1);
      }
    }
  }

  // As lab/trainer/trainer.h describes it.
  std::string RecordOf(std::string_view key, uint64_t index, double end_s, const std::vector<size_t>& order,
                       const IterationInstants& instants) const {
    std::string phases;
    std::string stalls;
    double exposed_s = 0;
    const auto add_stall = [&](double from_s, double to_s) {
      if (to_s <= from_s) return;
      exposed_s += to_s - from_s;
      stalls += fmt::format("{}[{:.6f}, {:.6f}]", stalls.empty() ? "" : ", ", from_s - instants.begin_s,
                            to_s - instants.begin_s);
    };
    const auto or_end = [&](const Instant& instant) { return instant > 0 ? instant.load() : end_s; };
    for (size_t p = 0; p < order.size(); ++p) {
      const PhaseInstants& phase = instants.phases[p];
      add_stall(or_end(phase.reached), or_end(phase.left));
      if (phase.began <= 0) continue;
      phases += fmt::format("{}[{}, {:.6f}, {:.6f}]", phases.empty() ? "" : ", ", order[p],
                            phase.began - instants.begin_s, or_end(phase.ended) - instants.begin_s);
    }
    add_stall(or_end(instants.computed), end_s);
    std::string record = fmt::format(R"({{"{}": {}, "begin_s": {:.6f}, "seconds": {:.6f}, "exposed_s": {:.6f})", key,
                                     index, instants.begin_s, end_s - instants.begin_s, exposed_s);
    if (records_phases_) record += fmt::format(R"(, "phases": [{}], "stalls": [{}])", phases, stalls);
    return record + "}";
  }

  // What is on `second` from now on comes after what is on `first`.
  void After(cudaStream_t first, cudaStream_t second) {
    FAIRLEAD_NCCL(cudaEventRecord(event_, first));
    FAIRLEAD_NCCL(cudaStreamWaitEvent(second, event_, 0));
  }

  const TrainerPlan& plan_;
  const bool records_phases_ = Variable("FAIRLEAD_TRAINER_PHASES") == "1";
  lab::TrainerControl control_{Variable("FAIRLEAD_TRAINER_CONTROL")};
  Communicators communicators_;
  std::vector<std::vector<std::unique_ptr<Operation>>> operations_;  // [phase of the plan]
  cudaStream_t computing_ = nullptr;
  cudaStream_t communicating_ = nullptr;
  cudaEvent_t event_ = nullptr;
  std::string failure_;
};

int Fail(std::string_view message, int code) {
  fmt::print(stderr, "nccl-lab-rank: {}\n", message);
  return code;
}

int Run(const std::string& path) {
  const auto text = ReadWholeFile(path);
  if (!text.ok()) return Fail(text.status().message(), kExitBadInput);
  const auto plan = lab::ReadTrainerPlan(*text, path);
  if (!plan.ok()) return Fail(plan.status().message(), kExitBadInput);
  uint64_t done = 0;
  if (!plan->checkpoint.empty()) {
    const auto read = lab::ReadCheckpoint(plan->checkpoint);
    if (!read.ok()) return Fail(read.status().message(), kExitBadInput);
    done = *read;
  }
  std::optional<lab::SimulatedGpus> gpus;
  if (const std::string folder = Variable("FAIRLEAD_GPU_COUNTERS"); !folder.empty()) {
    auto created = lab::SimulatedGpus::Create(folder, plan->job, plan->num_gpus);
    if (!created.ok()) return Fail(created.status().message(), kExitUnavailable);
    gpus = std::move(*created);
  }
  if (InterfacesOf(*plan).empty()) return Fail("this host has none of the plan's addresses", kExitUnavailable);
  SetEnvironment(*plan);
  FAIRLEAD_NCCL(cudaSetDevice(0));
  Worker worker(*plan, std::filesystem::path(path).parent_path().string());
  std::signal(SIGTERM, HandleStopSignal);
  std::signal(SIGINT, HandleStopSignal);
  PrintRecord(fmt::format(R"({{"connected": {}}})", plan->connections.size()));
  SleepFor(plan->start_s);
  const auto is_done = [&] { return plan->iterations != 0 && done >= plan->iterations; };
  while (!is_done() && !stop_requested && worker.Iterate(done)) {
    ++done;
    if (gpus) gpus->Add(plan->work_flop, plan->compute_s);
    const Status kept = lab::KeepCheckpoint(*plan, done, nullptr);
    if (!kept.ok()) return Fail(kept.message(), kExitUnavailable);
  }
  if (!worker.failure().empty()) SleepFor(kLostPeerPatience);
  if (is_done()) worker.Leave();
  PrintRecord(fmt::format(R"({{"end": "{}", "iterations": {}}})",
                          is_done() ? "done" : (stop_requested ? "stopped" : "peer lost"), done));
  if (is_done() || stop_requested) return 0;
  return Fail(fmt::format("job {}: worker {}: {}", plan->job, plan->worker, worker.failure()), kExitUnavailable);
}

}  // namespace
}  // namespace fairlead::nccl_host

int main(int argc, char** argv) {
  const std::vector<std::string_view> args(argv + 1, argv + argc);
  if (args.empty() || args.size() > 2 || (args.size() == 2 && args[0] != "--ccl=plugin")) {
    fmt::print(stderr, "Usage: nccl-lab-rank [--ccl=plugin] PLAN.json\n");
    return 2;
  }
  fairlead::nccl_host::End(fairlead::nccl_host::Run(std::string(args.back())));
}
