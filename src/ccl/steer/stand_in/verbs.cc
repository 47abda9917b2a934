// Stand-in for libibverbs.so.1, for tests: prints what a driver would receive. FAIRLEAD_TEST_REFUSE=1: it refuses flow
// labels. FAIRLEAD_TEST_INFINIBAND=1: its ports are none of Ethernet.
#include <infiniband/verbs.h>

#include <cerrno>
#include <cstdio>
#include <cstdlib>
#include <cstring>

#undef ibv_query_gid
#undef ibv_query_port

extern "C" int ibv_modify_qp(ibv_qp* qp, ibv_qp_attr* attr, int mask) {
  const bool has_peer = (mask & IBV_QP_AV) != 0;
  const unsigned label = has_peer ? attr->ah_attr.grh.flow_label : 0u;
  if (label != 0 && getenv("FAIRLEAD_TEST_REFUSE") != nullptr) return EINVAL;
  printf("modify qp %u state %d", qp->qp_num, static_cast<int>(attr->qp_state));
  if (has_peer) {
    printf(" class %u port %u", attr->ah_attr.grh.traffic_class, label == 0 ? 0u : ibv_flow_label_to_udp_sport(label));
  }
  printf("\n");
  return 0;
}

extern "C" int ibv_destroy_qp(ibv_qp* qp) {
  printf("destroy qp %u\n", qp->qp_num);
  return 0;
}

extern "C" int ibv_query_port(ibv_context*, uint8_t, _compat_ibv_port_attr* compatible) {
  auto* attr = reinterpret_cast<ibv_port_attr*>(compatible);
  const bool is_infiniband = getenv("FAIRLEAD_TEST_INFINIBAND") != nullptr;
  attr->link_layer = is_infiniband ? IBV_LINK_LAYER_INFINIBAND : IBV_LINK_LAYER_ETHERNET;
  return 0;
}

extern "C" int ibv_query_gid(ibv_context*, uint8_t, int index, ibv_gid* gid) {
  memset(gid, 0, sizeof(*gid));
  gid->raw[15] = static_cast<uint8_t>(index);
  return 0;
}
