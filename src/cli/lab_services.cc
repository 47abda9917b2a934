#include "cli/lab_services.h"

#include <arpa/inet.h>
#include <fmt/format.h>
#include <netinet/in.h>
#include <sys/socket.h>

#include "base/descriptor.h"
#include "cli/command.h"
#include "lab/lab_programs.h"
#include "lab/lab_services.h"

namespace fairlead::cli {

namespace {

// A port that nobody uses now; somebody may before we do.
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

}  // namespace

Result<std::string> StartLabServices(const lab::LabState& state, const topology::Fabric& fabric,
                                     const lab::LabFolder& folder, const std::string& page) {
  lab::LabServicesOptions options;
  FL_ASSIGN_OR_RETURN(options.program, lab::ThisProgram());
  options.http = page;
  if (page == "any") {
    FL_ASSIGN_OR_RETURN(options.http, FindFreePage());
  }
  FL_RETURN_IF_ERROR(lab::StartServices(state, fabric, folder.path(), options, StopRequested()));
  return "http://" + options.http;
}

}  // namespace fairlead::cli
