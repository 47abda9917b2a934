// libfairlead-steer.so, RoCE: gives each queue pair of a training process the UDP source port and the traffic class
// that the agent of its host says.
//
// It overrides ibv_modify_qp(), also where that is looked up with dlvsym(), as NCCL does. A reliable or unreliable
// connection learns its peer on the way to "ready to receive" (RTR): then the agent is asked, and
//     traffic class   goes into the address handle: DSCP and with it the queue in NIC and switches
//     source port     goes in as the flow label from which drivers derive the port (14 bits; the port's range is
//                     0xC000..0xFFFF), and on Mellanox NICs also through mlx5dv_modify_qp_udp_sport(), once the queue
//                     pair is ready to send (RTS)
// Where the driver refuses the changed attributes, the call is repeated with those of the process. InfiniBand (no
// global route header) and datagrams are left alone.
//
// Tested with a stand-in for the verbs library; never run on hardware.
#include <dlfcn.h>
#include <infiniband/verbs.h>

#include <atomic>
#include <cerrno>
#include <cstring>

#include "ccl/export.h"
#include "ccl/steer/agent_exchange.h"

namespace fairlead::ccl {
namespace {

using ModifyFunction = int (*)(ibv_qp*, ibv_qp_attr*, int);
using QueryGidFunction = int (*)(ibv_context*, uint8_t, int, ibv_gid*);
using SetPortFunction = int (*)(ibv_qp*, uint16_t);
using LookUpFunction = void* (*)(void*, const char*, const char*);

LookUpFunction next_dlvsym = nullptr;
// What a process that looks it up itself has found.
std::atomic<ModifyFunction> looked_up_modify = nullptr;

__attribute__((constructor)) void LoadLookUp() {
  next_dlvsym = reinterpret_cast<LookUpFunction>(dlsym(RTLD_NEXT, "dlvsym"));
}

// Of a library that the process has loaded; null when it has not.
template <typename Function>
Function FindLoaded(const char* library, const char* symbol) {
  void* handle = dlopen(library, RTLD_LAZY | RTLD_NOLOAD);
  if (handle == nullptr) return nullptr;
  const auto function = reinterpret_cast<Function>(dlsym(handle, symbol));
  dlclose(handle);
  return function;
}

ModifyFunction NextModify() {
  if (const ModifyFunction found = looked_up_modify.load(std::memory_order_acquire)) return found;
  if (const auto next = reinterpret_cast<ModifyFunction>(dlsym(RTLD_NEXT, "ibv_modify_qp"))) return next;
  return FindLoaded<ModifyFunction>("libibverbs.so.1", "ibv_modify_qp");
}

// Ports of queue pairs on their way from RTR to RTS, a few at a time; one that finds no place goes without the vendor's
// call.
class PendingPorts {
 public:
  void Put(uint32_t queue_pair, uint16_t port) {
    for (std::atomic<uint64_t>& slot : slots_) {
      uint64_t empty = 0;
      if (slot.compare_exchange_strong(empty, Pack(queue_pair, port))) return;
    }
  }
  // 0: none.
  uint16_t Take(uint32_t queue_pair) {
    for (std::atomic<uint64_t>& slot : slots_) {
      uint64_t value = slot.load();
      if (value != 0 && value >> 16 == queue_pair && slot.compare_exchange_strong(value, 0)) {
        return static_cast<uint16_t>(value);
      }
    }
    return 0;
  }

 private:
  static uint64_t Pack(uint32_t queue_pair, uint16_t port) { return (uint64_t{queue_pair} << 16) | port; }

  std::atomic<uint64_t> slots_[1024] = {};
};
PendingPorts pending_ports;

// The next calls identify the peer.
bool LearnsPeer(const ibv_qp* qp, const ibv_qp_attr* attr, int mask) {
  return (mask & IBV_QP_STATE) != 0 && attr->qp_state == IBV_QPS_RTR && (mask & IBV_QP_AV) != 0 &&
         attr->ah_attr.is_global != 0 && (qp->qp_type == IBV_QPT_RC || qp->qp_type == IBV_QPT_UC);
}

bool BecomesReadyToSend(const ibv_qp_attr* attr, int mask) {
  return (mask & IBV_QP_STATE) != 0 && attr->qp_state == IBV_QPS_RTS;
}

shm::SteeringQuestion QuestionAbout(const ibv_qp* qp, const ibv_qp_attr* attr) {
  constexpr uint16_t kRoceUdpPort = 4791;
  shm::SteeringQuestion question = {};
  question.kind = shm::SteeringQuestionKind::kQueuePair;
  question.queue_pair = qp->qp_num;
  question.destination_port = kRoceUdpPort;
  static_assert(sizeof(question.destination.bytes) == sizeof(ibv_gid::raw));
  memcpy(question.destination.bytes, attr->ah_attr.grh.dgid.raw, sizeof(question.destination.bytes));
  const auto query = FindLoaded<QueryGidFunction>("libibverbs.so.1", "ibv_query_gid");
  ibv_gid gid = {};
  if (query != nullptr && query(qp->context, attr->ah_attr.port_num, attr->ah_attr.grh.sgid_index, &gid) == 0) {
    memcpy(question.source.bytes, gid.raw, sizeof(question.source.bytes));
  }
  return question;
}

// Drivers take the low 14 bits of the label, exclusive-or those above (ibv_flow_label_to_udp_sport), and a label of 0
// for none: the first port is written the other way.
constexpr uint16_t kFirstRocePort = 0xc000;
uint32_t FlowLabelOf(uint16_t port) { return port == kFirstRocePort ? 0x4001u : port & 0x3fffu; }

int ModifyAsAnswered(ModifyFunction next, ibv_qp* qp, ibv_qp_attr* attr, int mask, const shm::SteeringAnswer& answer,
                     bool* steered) {
  const bool sets_port = answer.source_port >= kFirstRocePort;
  ibv_qp_attr changed = *attr;
  if (answer.sets_class != 0) changed.ah_attr.grh.traffic_class = answer.traffic_class;
  if (sets_port) changed.ah_attr.grh.flow_label = FlowLabelOf(answer.source_port);
  const int result = next(qp, &changed, mask);
  *steered = result == 0 && sets_port;
  if (*steered) pending_ports.Put(qp->qp_num, answer.source_port);
  return result == 0 ? 0 : next(qp, attr, mask);
}

int SteeredModify(ModifyFunction next, ibv_qp* qp, ibv_qp_attr* attr, int mask) {
  const int errno_before = errno;
  AgentExchange agent(ProcessOptions());
  shm::SteeringAnswer answer = {};
  const bool answered = agent.Ask(QuestionAbout(qp, attr), &answer);
  errno = errno_before;
  if (!answered) return next(qp, attr, mask);
  bool steered = false;
  const int result = ModifyAsAnswered(next, qp, attr, mask, answer, &steered);
  const int error = errno;
  agent.Tell(steered ? answer.source_port : uint16_t{0}, result, steered);
  errno = error;
  return result;
}

void SetVendorPort(ibv_qp* qp) {
  const int errno_before = errno;
  const uint16_t port = pending_ports.Take(qp->qp_num);
  const auto set_port = port == 0 ? nullptr : FindLoaded<SetPortFunction>("libmlx5.so.1", "mlx5dv_modify_qp_udp_sport");
  if (set_port != nullptr) set_port(qp, port);
  errno = errno_before;
}

}  // namespace
}  // namespace fairlead::ccl

FAIRLEAD_EXPORT int ibv_modify_qp(ibv_qp* qp, ibv_qp_attr* attr, int mask) {
  using namespace fairlead::ccl;
  const ModifyFunction next = NextModify();
  if (next == nullptr) return ENOSYS;
  if (!ProcessOptions().is_on()) return next(qp, attr, mask);
  if (LearnsPeer(qp, attr, mask)) return SteeredModify(next, qp, attr, mask);
  const int result = next(qp, attr, mask);
  if (result == 0 && BecomesReadyToSend(attr, mask)) SetVendorPort(qp);
  return result;
}

// Everything else is passed on by a jump, not a call: the caller of a lookup of the "next" symbol (RTLD_NEXT) is found
// by the return address, which must stay the caller's. GCC makes it one when it optimizes, Clang when an option asks
// for it.
#ifdef __clang__
#define FAIRLEAD_OPTIMIZED
#define FAIRLEAD_JUMP [[clang::musttail]] return
#else
#define FAIRLEAD_OPTIMIZED __attribute__((optimize("O2")))
#define FAIRLEAD_JUMP return
#endif
FAIRLEAD_EXPORT FAIRLEAD_OPTIMIZED void* dlvsym(void* handle, const char* symbol, const char* version) {
  using namespace fairlead::ccl;
  if (next_dlvsym == nullptr) return nullptr;
  if (strcmp(symbol, "ibv_modify_qp") != 0) FAIRLEAD_JUMP next_dlvsym(handle, symbol, version);
  void* found = next_dlvsym(handle, symbol, version);
  if (found == nullptr || !ProcessOptions().is_on()) return found;
  looked_up_modify.store(reinterpret_cast<ModifyFunction>(found), std::memory_order_release);
  return reinterpret_cast<void*>(&ibv_modify_qp);
}
