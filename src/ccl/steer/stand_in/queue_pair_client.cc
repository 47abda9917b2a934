// A process that connects queue pairs as collective libraries do, for tests.
//
//     queue_pair_client linked|looked-up|looked-up-plain [mlx5] [local] [datagram] [loopback] [labelled]
//     [twins|reset|destroyed]
//
// `looked-up`: the way of NCCL, dlopen() and dlvsym(); `looked-up-plain`: dlsym(). `local`: no global route header,
// InfiniBand. `loopback`: to its own address. `labelled`: with a flow label of its own. `twins`: two NICs, whose queue
// pairs have the same number, both learn their peers before one can send. `reset`, `destroyed`: between learning its
// peer and being ready to send, after which another one has the number, or the place in memory.
#include <dlfcn.h>
#include <infiniband/verbs.h>

#include <cerrno>
#include <cstdio>
#include <cstring>

namespace {

using ModifyFunction = int (*)(ibv_qp*, ibv_qp_attr*, int);
using DestroyFunction = int (*)(ibv_qp*);

struct Options {
  bool is_local = false;
  bool is_datagram = false;
  bool is_loopback = false;
  bool is_labelled = false;
};

ModifyFunction modify = &ibv_modify_qp;
DestroyFunction destroy = &ibv_destroy_qp;
bool is_kept = true;  // what is the caller's
int result = 0;

bool Has(int argc, char** argv, const char* word) {
  for (int i = 1; i < argc; ++i) {
    if (strcmp(argv[i], word) == 0) return true;
  }
  return false;
}

void LookUp(bool with_version) {
  void* verbs = dlopen("libibverbs.so.1", RTLD_NOW);
  const auto find = [&](const char* name) {
    return with_version ? dlvsym(verbs, name, "IBVERBS_1.1") : dlsym(verbs, name);
  };
  modify = reinterpret_cast<ModifyFunction>(find("ibv_modify_qp"));
  destroy = reinterpret_cast<DestroyFunction>(find("ibv_destroy_qp"));
}

ibv_qp NewQueuePair(ibv_context* context, const Options& options) {
  ibv_qp qp = {};
  qp.context = context;
  qp.qp_num = 77;
  qp.qp_type = options.is_datagram ? IBV_QPT_UD : IBV_QPT_RC;
  return qp;
}

void Enter(ibv_qp* qp, ibv_qp_state state) {
  ibv_qp_attr attr = {};
  attr.qp_state = state;
  result |= modify(qp, &attr, IBV_QP_STATE);
}

void LearnPeer(ibv_qp* qp, const Options& options) {
  ibv_qp_attr attr = {};
  attr.qp_state = IBV_QPS_RTR;
  attr.ah_attr.is_global = options.is_local ? 0 : 1;
  attr.ah_attr.port_num = 1;
  attr.ah_attr.grh.sgid_index = 3;
  attr.ah_attr.grh.traffic_class = 8;
  attr.ah_attr.grh.flow_label = options.is_labelled ? 5 : 0;
  attr.ah_attr.grh.dgid.raw[15] = options.is_loopback ? 3 : 9;
  errno = ENOTTY;
  result |= modify(qp, &attr, IBV_QP_STATE | IBV_QP_AV);
  const unsigned label = options.is_labelled ? 5 : 0;
  is_kept = is_kept && errno == ENOTTY && attr.ah_attr.grh.traffic_class == 8 && attr.ah_attr.grh.flow_label == label;
}

}  // namespace

int main(int argc, char** argv) {
  setvbuf(stdout, nullptr, _IONBF, 0);
  if (Has(argc, argv, "mlx5")) dlopen("libmlx5.so.1", RTLD_NOW);
  if (Has(argc, argv, "looked-up")) LookUp(true);
  if (Has(argc, argv, "looked-up-plain")) LookUp(false);
  const Options options = {.is_local = Has(argc, argv, "local"),
                           .is_datagram = Has(argc, argv, "datagram"),
                           .is_loopback = Has(argc, argv, "loopback"),
                           .is_labelled = Has(argc, argv, "labelled")};
  ibv_context contexts[2] = {};
  ibv_qp qp = NewQueuePair(&contexts[0], options), twin = NewQueuePair(&contexts[1], options);
  const bool has_twin = Has(argc, argv, "twins");
  Enter(&qp, IBV_QPS_INIT);
  LearnPeer(&qp, options);
  if (has_twin) LearnPeer(&twin, options);
  if (Has(argc, argv, "reset")) Enter(&qp, IBV_QPS_RESET);
  if (Has(argc, argv, "destroyed")) {
    result |= destroy(&qp);
    qp = NewQueuePair(&contexts[1], options);
  }
  if (has_twin) Enter(&twin, IBV_QPS_RTS);
  Enter(&qp, IBV_QPS_RTS);
  printf("%s\n", is_kept ? "the caller's attributes and errno stay" : "the caller's attributes or errno changed");
  return result;
}
