// A process that connects one queue pair as collective libraries do, for tests.
//
//     queue_pair_client linked|looked-up [mlx5] [local] [datagram]
//
// `looked-up`: the way of NCCL, dlopen() and dlvsym(). `local`: no global route header, InfiniBand.
#include <dlfcn.h>
#include <infiniband/verbs.h>

#include <cerrno>
#include <cstdio>
#include <cstring>

namespace {

using ModifyFunction = int (*)(ibv_qp*, ibv_qp_attr*, int);

bool Has(int argc, char** argv, const char* word) {
  for (int i = 1; i < argc; ++i) {
    if (strcmp(argv[i], word) == 0) return true;
  }
  return false;
}

}  // namespace

int main(int argc, char** argv) {
  setvbuf(stdout, nullptr, _IONBF, 0);
  if (Has(argc, argv, "mlx5")) dlopen("libmlx5.so.1", RTLD_NOW);
  ModifyFunction modify = &ibv_modify_qp;
  if (Has(argc, argv, "looked-up")) {
    void* verbs = dlopen("libibverbs.so.1", RTLD_NOW);
    modify = reinterpret_cast<ModifyFunction>(dlvsym(verbs, "ibv_modify_qp", "IBVERBS_1.1"));
  }
  ibv_qp qp = {};
  qp.qp_num = 77;
  qp.qp_type = Has(argc, argv, "datagram") ? IBV_QPT_UD : IBV_QPT_RC;
  ibv_qp_attr attr = {};
  attr.qp_state = IBV_QPS_INIT;
  int result = modify(&qp, &attr, IBV_QP_STATE);
  attr.qp_state = IBV_QPS_RTR;
  attr.ah_attr.is_global = Has(argc, argv, "local") ? 0 : 1;
  attr.ah_attr.port_num = 1;
  attr.ah_attr.grh.sgid_index = 3;
  attr.ah_attr.grh.traffic_class = 8;
  attr.ah_attr.grh.dgid.raw[15] = 9;
  errno = ENOTTY;
  result |= modify(&qp, &attr, IBV_QP_STATE | IBV_QP_AV);
  const bool kept = errno == ENOTTY && attr.ah_attr.grh.traffic_class == 8 && attr.ah_attr.grh.flow_label == 0;
  attr.qp_state = IBV_QPS_RTS;
  result |= modify(&qp, &attr, IBV_QP_STATE);
  printf("%s\n", kept ? "the caller's attributes and errno stay" : "the caller's attributes or errno changed");
  return result;
}
