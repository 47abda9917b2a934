#include "service/controller/topology_routes.h"

#include <fmt/format.h>

#include <algorithm>
#include <map>
#include <string>
#include <utility>

#include "report/topology_picture.h"

namespace fairlead::service {

namespace {

// Relative to the fullest that works.
std::vector<report::LinkCondition> ConditionsOf(const topology::Fabric& fabric,
                                                const std::vector<controller::LinkOnFabric>& links) {
  std::vector<report::LinkCondition> conditions(fabric.num_links());
  double fullest = 0;
  for (const controller::LinkOnFabric& link : links) {
    report::LinkCondition& condition = conditions[link.link.index()];
    condition.health = link.health;
    condition.is_down = link.state == traffic::LinkState::kDown || link.health <= 0;
    condition.is_in_doubt = link.state != traffic::LinkState::kUp;
    const double left = fabric.capacity(link.link).value() * link.health;
    if (!condition.is_down && left > 0) condition.load = link.load / left;
    fullest = std::max(fullest, condition.load);
  }
  for (report::LinkCondition& condition : conditions) condition.load = fullest > 0 ? condition.load / fullest : 0;
  return conditions;
}

}  // namespace

Result<Json> TopologyJson(const topology::Fabric& fabric, const NetworkSnapshot& snapshot, const HttpQuery& query) {
  report::PictureOptions options;
  for (const auto& [name, value] : query) {
    if (name != "open" && name != "job") {
      return InvalidArgument(fmt::format("unknown parameter '{}'; known: open, job", name));
    }
    (name == "open" ? options.open : options.job) = value;
  }
  std::map<std::string, double> lost;
  for (const controller::JobOnFabric& job : snapshot.jobs) lost[job.name] = job.lost_gpus().value_or(0);
  report::PictureInput input{.fabric = fabric, .conditions = ConditionsOf(fabric, snapshot.links), .jobs = {}};
  for (const controller::JobPaths& job : snapshot.paths) input.jobs.push_back({job.name, job.links});
  std::ranges::stable_sort(input.jobs, [&](const report::JobOnLinks& a, const report::JobOnLinks& b) {
    return std::pair(-lost[a.name], a.name) < std::pair(-lost[b.name], b.name);
  });
  FL_ASSIGN_OR_RETURN(const report::TopologyPicture picture, report::MakePicture(input, options));
  return report::PictureJson(picture);
}

HttpRoute TopologyRoute(const topology::Fabric& fabric, std::function<NetworkSnapshot()> look) {
  HttpRoute route;
  route.path = "/v1/topology";
  route.ask = [&fabric, look = std::move(look)](const HttpQuery& query) { return TopologyJson(fabric, look(), query); };
  return route;
}

}  // namespace fairlead::service
