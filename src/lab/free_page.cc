#include "lab/free_page.h"

#include <fmt/format.h>

#include "base/free_port.h"

namespace fairlead::lab {

Result<std::string> FindFreePage() {
  const uint16_t port = FindFreePort();
  if (port == 0)
    return Unavailable("there is no free port on 127.0.0.1 for the controller's page; name one with --page");
  return fmt::format("127.0.0.1:{}", port);
}

}  // namespace fairlead::lab
