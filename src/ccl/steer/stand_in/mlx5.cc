// Stand-in for libmlx5.so.1, for tests: prints what a queue pair is given. FAIRLEAD_TEST_NO_SPORT, _NO_BOND: the errno
// of each call.
#include <infiniband/verbs.h>

#include <cstdio>
#include <cstdlib>

namespace {

int ErrorOf(const char* variable) {
  const char* text = getenv(variable);
  return text == nullptr ? 0 : atoi(text);
}

}  // namespace

extern "C" bool mlx5dv_is_supported(ibv_device*) { return getenv("FAIRLEAD_TEST_OTHER_NIC") == nullptr; }

extern "C" int mlx5dv_modify_qp_udp_sport(ibv_qp* qp, uint16_t port) {
  printf("mlx5 qp %u port %u\n", qp->qp_num, port);
  return ErrorOf("FAIRLEAD_TEST_NO_SPORT");
}

extern "C" int mlx5dv_modify_qp_lag_port(ibv_qp* qp, uint8_t port) {
  printf("mlx5 qp %u bond port %u\n", qp->qp_num, port);
  return ErrorOf("FAIRLEAD_TEST_NO_BOND");
}
