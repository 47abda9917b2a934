// Stand-in for libmlx5.so.1, for tests: prints the port that a queue pair is given.
#include <infiniband/verbs.h>

#include <cstdio>

extern "C" int mlx5dv_modify_qp_udp_sport(ibv_qp* qp, uint16_t port) {
  printf("mlx5 qp %u port %u\n", qp->qp_num, port);
  return 0;
}
