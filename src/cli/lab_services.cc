#include "cli/lab_services.h"

#include "cli/command.h"
#include "lab/free_page.h"
#include "lab/lab_services.h"

namespace fairlead::cli {

Result<std::string> StartLabServices(const lab::LabState& state, const topology::Fabric& fabric,
                                     const lab::LabFolder& folder, const std::string& page, const std::string& policy) {
  lab::LabServicesOptions options;
  options.http = page;
  options.controller_arguments = {"--policy", policy};
  if (page == "any") {
    FL_ASSIGN_OR_RETURN(options.http, lab::FindFreePage());
  }
  FL_RETURN_IF_ERROR(lab::StartServices(state, fabric, folder.path(), options, StopRequested()));
  return "http://" + options.http;
}

}  // namespace fairlead::cli
