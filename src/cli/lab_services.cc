#include "cli/lab_services.h"

#include <fmt/format.h>

#include <filesystem>

#include "cli/command.h"
#include "lab/free_page.h"
#include "lab/lab_services.h"
#include "lab/lab_slurm.h"

namespace fairlead::cli {

Result<std::string> StartLabServices(const lab::LabState& state, const topology::Fabric& fabric,
                                     const lab::LabFolder& folder, const LabServicesWish& wish) {
  lab::LabServicesOptions options;
  options.http = wish.page;
  options.controller_arguments = {"--policy", wish.policy};
  if (wish.page == "any") {
    FL_ASSIGN_OR_RETURN(options.http, lab::FindFreePage());
  }
  if (wish.has_slurm) lab::AddSlurmToServices(folder.path(), wish.spares, &options);
  FL_RETURN_IF_ERROR(lab::StartServices(state, fabric, folder.path(), options, StopRequested()));
  if (wish.has_slurm) FL_RETURN_IF_ERROR(lab::WaitForSlurmEngine(folder.path(), StopRequested()));
  return "http://" + options.http;
}

Status StartLabSlurm(const lab::LabState& state, const topology::Fabric& fabric, const lab::LabFolder& folder,
                     const std::vector<std::string>& spares) {
  for (const std::string& spare : spares) {
    const lab::LabNodeId node = lab::FindNode(state.plan, spare);
    if (node.valid() && state.plan.nodes[node].role == lab::NodeRole::kHost) continue;
    return InvalidArgument(fmt::format("--spares: the fabric has no host '{}'; expected a name like '{}'", spare,
                                       state.plan.nodes.raw().front().name));
  }
  const std::string rules = FindInputFile("integrations/slurm/fairlead_jobs.lua");
  FL_ASSIGN_OR_RETURN(const lab::SlurmPieces pieces,
                      lab::FindSlurmPieces(std::filesystem::path(rules).parent_path().string()));
  return lab::StartSlurm(state, fabric, folder.path(), {.pieces = pieces, .spares = spares}, StopRequested());
}

}  // namespace fairlead::cli
