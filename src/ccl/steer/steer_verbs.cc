// libfairlead-steer.so, RoCE: gives each queue pair of a training process the UDP source port and the traffic class
// that the agent of its host says.
//
// It overrides ibv_modify_qp() and ibv_destroy_qp(), also where they are looked up with dlsym() or dlvsym(), as NCCL
// does (steer_lookup.cc). A reliable or unreliable connection learns its peer on the way to "ready to receive" (RTR):
// then the agent is asked, and
//     traffic class   goes into the address handle: DSCP and with it the queue in NIC and switches
//     source port     goes in as the flow label from which drivers derive the port (14 bits; the port's range is
//                     0xC000..0xFFFF), and on Mellanox NICs also through mlx5dv_modify_qp_udp_sport(), whenever the
//                     queue pair gets ready to send (RTS)
//     port of a bond  through mlx5dv_modify_qp_lag_port(), then too: where bonds go by queue pair, the source port does
//                     not choose it
// What has become of it is told at RTS: a port that the NIC did not take is not reported as taken. Where the driver
// refuses the changed attributes, the call is repeated with those of the process. InfiniBand, queue pairs to the own
// address, and datagrams are left alone, and so is the port of a queue pair whose flow label the process has chosen.
//
// Tested with a stand-in for the verbs library; never run on hardware.
#include <dlfcn.h>
#include <infiniband/verbs.h>

#include <cerrno>
#include <cstring>

#include "ccl/export.h"
#include "ccl/steer/agent_exchange.h"
#include "ccl/steer/loaded_symbols.h"
#include "ccl/steer/steered_queue_pairs.h"
#include "ccl/steer/verbs_overrides.h"

#undef ibv_query_port

namespace fairlead::ccl {
namespace {

using QueryGidFunction = int (*)(ibv_context*, uint8_t, int, ibv_gid*);
using QueryPortFunction = int (*)(ibv_context*, uint8_t, ibv_port_attr*);
using SetPortFunction = int (*)(ibv_qp*, uint16_t);
using SetBondPortFunction = int (*)(ibv_qp*, uint8_t);
using IsMellanoxFunction = bool (*)(ibv_device*);

constexpr char kVerbs[] = "libibverbs.so.1";
constexpr char kMellanox[] = "libmlx5.so.1";

std::atomic<ModifyFunction> looked_up_modify = nullptr;
std::atomic<DestroyFunction> looked_up_destroy = nullptr;

SteeredQueuePairs steered_queue_pairs;

template <typename Function>
Function FindFunction(const char* library, const char* symbol) {
  return reinterpret_cast<Function>(FindLoaded(library, symbol));
}

bool BecomesState(const ibv_qp_attr* attr, int mask, ibv_qp_state state) {
  return (mask & IBV_QP_STATE) != 0 && attr->qp_state == state;
}

// What was answered about it does not count any more.
bool BeginsAnew(const ibv_qp_attr* attr, int mask) {
  return BecomesState(attr, mask, IBV_QPS_RESET) || BecomesState(attr, mask, IBV_QPS_INIT) ||
         BecomesState(attr, mask, IBV_QPS_ERR);
}

bool IsRoce(ibv_context* context, uint8_t port) {
  const auto query = FindFunction<QueryPortFunction>(kVerbs, "ibv_query_port");
  ibv_port_attr attr = {};
  return query != nullptr && query(context, port, &attr) == 0 && attr.link_layer == IBV_LINK_LAYER_ETHERNET;
}

bool ReadOwnGid(const ibv_qp* qp, const ibv_qp_attr* attr, ibv_gid* gid) {
  const auto query = FindFunction<QueryGidFunction>(kVerbs, "ibv_query_gid");
  return query != nullptr && query(qp->context, attr->ah_attr.port_num, attr->ah_attr.grh.sgid_index, gid) == 0;
}

// The next calls identify the peer, which is another one over Ethernet.
bool LearnsPeer(const ibv_qp* qp, const ibv_qp_attr* attr, int mask, ibv_gid* own) {
  if (!BecomesState(attr, mask, IBV_QPS_RTR) || (mask & IBV_QP_AV) == 0 || attr->ah_attr.is_global == 0) return false;
  if (qp->qp_type != IBV_QPT_RC && qp->qp_type != IBV_QPT_UC) return false;
  return IsRoce(qp->context, attr->ah_attr.port_num) && ReadOwnGid(qp, attr, own) &&
         memcmp(own->raw, attr->ah_attr.grh.dgid.raw, sizeof(own->raw)) != 0;
}

// Drivers take the low 14 bits of the label, exclusive-or those above (ibv_flow_label_to_udp_sport), and a label of 0
// for none: the first port is written the other way.
constexpr uint16_t kFirstRocePort = 0xc000;
uint32_t FlowLabelOf(uint16_t port) { return port == kFirstRocePort ? 0x4001u : port & 0x3fffu; }

shm::SteeringQuestion QuestionAbout(const ibv_qp* qp, const ibv_qp_attr* attr, const ibv_gid& own) {
  constexpr uint16_t kRoceUdpPort = 4791;
  shm::SteeringQuestion question = {};
  question.kind = shm::SteeringQuestionKind::kQueuePair;
  question.queue_pair = qp->qp_num;
  question.destination_port = kRoceUdpPort;
  if (attr->ah_attr.grh.flow_label != 0) {
    question.source_port = ibv_flow_label_to_udp_sport(attr->ah_attr.grh.flow_label);
  }
  static_assert(sizeof(question.destination.bytes) == sizeof(ibv_gid::raw));
  memcpy(question.destination.bytes, attr->ah_attr.grh.dgid.raw, sizeof(question.destination.bytes));
  memcpy(question.source.bytes, own.raw, sizeof(question.source.bytes));
  return question;
}

// Returns the result of the call; `port`: that the driver has taken, 0: none.
int ModifyAsAnswered(ModifyFunction next, ibv_qp* qp, ibv_qp_attr* attr, int mask, const shm::SteeringAnswer& answer,
                     uint16_t* port) {
  *port = attr->ah_attr.grh.flow_label == 0 && answer.source_port >= kFirstRocePort ? answer.source_port : uint16_t{0};
  ibv_qp_attr changed = *attr;
  if (answer.sets_class != 0) changed.ah_attr.grh.traffic_class = answer.traffic_class;
  if (*port != 0) changed.ah_attr.grh.flow_label = FlowLabelOf(*port);
  if (next(qp, &changed, mask) == 0) return 0;
  *port = 0;
  return next(qp, attr, mask);
}

int SteeredModify(ModifyFunction next, ibv_qp* qp, ibv_qp_attr* attr, int mask, const ibv_gid& own) {
  const int errno_before = errno;
  steered_queue_pairs.Drop(qp);
  AgentExchange agent(ProcessOptions());
  shm::SteeringAnswer answer = {};
  const bool answered = agent.Ask(QuestionAbout(qp, attr, own), Patience::kQueuePair, &answer);
  errno = errno_before;
  if (!answered) return next(qp, attr, mask);
  uint16_t port = 0;
  const int result = ModifyAsAnswered(next, qp, attr, mask, answer, &port);
  const int error = errno;
  const int exchange = agent.Release();
  const bool is_kept = result == 0 && port != 0 &&
                       steered_queue_pairs.Put(qp, {.port = port, .bond_port = answer.bond_port, .exchange = exchange});
  // Without a place for it nobody looks after it at RTS: whether the NIC has the port is not known then.
  if (!is_kept) AgentExchange(ProcessOptions(), exchange).Tell(0, result, false);
  errno = error;
  return result;
}

// 0, or the errno of what the NIC did not take.
int SetInNic(ibv_qp* qp, const SteeredQueuePair& steered) {
  const auto set_port = FindFunction<SetPortFunction>(kMellanox, "mlx5dv_modify_qp_udp_sport");
  if (set_port == nullptr) return 0;  // the driver has taken the label
  const auto is_mellanox = FindFunction<IsMellanoxFunction>(kMellanox, "mlx5dv_is_supported");
  if (is_mellanox != nullptr && !is_mellanox(qp->context->device)) return 0;
  if (const int error = set_port(qp, steered.port)) return error;
  if (steered.bond_port == 0) return 0;
  const auto set_bond_port = FindFunction<SetBondPortFunction>(kMellanox, "mlx5dv_modify_qp_lag_port");
  const int error = set_bond_port == nullptr ? EOPNOTSUPP : set_bond_port(qp, steered.bond_port);
  return error == EOPNOTSUPP ? 0 : error;  // it is in no bond
}

void FinishSteering(ibv_qp* qp) {
  const int errno_before = errno;
  SteeredQueuePair steered;
  if (steered_queue_pairs.Find(qp, &steered)) {
    const int error = SetInNic(qp, steered);
    const int exchange = steered_queue_pairs.TakeExchange(qp);
    if (exchange >= 0) {
      AgentExchange(ProcessOptions(), exchange).Tell(error == 0 ? steered.port : uint16_t{0}, error, error == 0);
    }
  }
  errno = errno_before;
}

void Forget(ibv_qp* qp) {
  const int errno_before = errno;
  steered_queue_pairs.Drop(qp);
  errno = errno_before;
}

template <typename Function>
Function FindVerb(const std::atomic<Function>& looked_up, const char* symbol) {
  if (const Function found = looked_up.load(std::memory_order_acquire)) return found;
  if (const auto next = reinterpret_cast<Function>(FindNext(symbol))) return next;
  return FindFunction<Function>(kVerbs, symbol);
}

}  // namespace

ModifyFunction NextModify() { return FindVerb(looked_up_modify, "ibv_modify_qp"); }
DestroyFunction NextDestroy() { return FindVerb(looked_up_destroy, "ibv_destroy_qp"); }

void* Override(const char* symbol, void* found) {
  const bool is_modify = IsSameName(symbol, "ibv_modify_qp");
  void* ours = is_modify ? reinterpret_cast<void*>(&ibv_modify_qp) : reinterpret_cast<void*>(&ibv_destroy_qp);
  // Without a library of verbs there is nothing to be overridden.
  if (found == ours) return is_modify ? (NextModify() ? ours : nullptr) : (NextDestroy() ? ours : nullptr);
  if (found == nullptr || !ProcessOptions().is_on()) return found;
  if (is_modify) {
    looked_up_modify.store(reinterpret_cast<ModifyFunction>(found), std::memory_order_release);
  } else {
    looked_up_destroy.store(reinterpret_cast<DestroyFunction>(found), std::memory_order_release);
  }
  return ours;
}

}  // namespace fairlead::ccl

FAIRLEAD_EXPORT int ibv_modify_qp(ibv_qp* qp, ibv_qp_attr* attr, int mask) {
  using namespace fairlead::ccl;  // NOLINT(google-build-using-namespace): this function stands outside for C
  const ModifyFunction next = NextModify();
  if (next == nullptr) return ENOSYS;
  if (!ProcessOptions().is_on()) return next(qp, attr, mask);
  if (BeginsAnew(attr, mask)) Forget(qp);
  ibv_gid own = {};
  const int errno_before = errno;
  const bool learns_peer = LearnsPeer(qp, attr, mask, &own);
  errno = errno_before;
  if (learns_peer) return SteeredModify(next, qp, attr, mask, own);
  const int result = next(qp, attr, mask);
  if (result == 0 && BecomesState(attr, mask, IBV_QPS_RTS)) FinishSteering(qp);
  return result;
}

FAIRLEAD_EXPORT int ibv_destroy_qp(ibv_qp* qp) {
  using namespace fairlead::ccl;  // NOLINT(google-build-using-namespace): this function stands outside for C
  const DestroyFunction next = NextDestroy();
  if (next == nullptr) return ENOSYS;
  if (ProcessOptions().is_on()) Forget(qp);
  return next(qp);
}
