// A second library in LD_PRELOAD, for tests: its connect() fails with errno FAIRLEAD_TEST_CONNECT_ERROR where a source
// port is asked for, as kernels and filters of packets may.
#include <netinet/in.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <cerrno>
#include <cstdlib>

extern "C" int connect(int socket, const sockaddr* address, socklen_t length) {
  unsigned range = 0;
  socklen_t size = sizeof(range);
  constexpr int kLocalPortRange = 51;
  const bool asks_for_port = getsockopt(socket, IPPROTO_IP, kLocalPortRange, &range, &size) == 0 && range != 0;
  if (asks_for_port) {
    const char* error = getenv("FAIRLEAD_TEST_CONNECT_ERROR");
    errno = error == nullptr ? EINVAL : atoi(error);
    return -1;
  }
  return static_cast<int>(syscall(SYS_connect, socket, address, length));
}
