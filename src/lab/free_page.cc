#include "lab/free_page.h"

#include <arpa/inet.h>
#include <fmt/format.h>
#include <netinet/in.h>
#include <sys/socket.h>

#include "base/descriptor.h"

namespace fairlead::lab {

Result<std::string> FindFreePage() {
  const Descriptor socket(::socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0));
  sockaddr_in address = {};
  address.sin_family = AF_INET;
  address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
  socklen_t size = sizeof(address);
  auto* const generic = reinterpret_cast<sockaddr*>(&address);
  if (bind(socket.get(), generic, size) != 0 || getsockname(socket.get(), generic, &size) != 0) {
    return Unavailable("there is no free port on 127.0.0.1 for the controller's page; name one with --page");
  }
  return fmt::format("127.0.0.1:{}", ntohs(address.sin_port));
}

}  // namespace fairlead::lab
