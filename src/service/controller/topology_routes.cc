#include "service/controller/topology_routes.h"

#include <fmt/format.h>

#include <algorithm>
#include <map>
#include <string>
#include <utility>

#include "base/whole_number.h"
#include "report/topology_picture.h"

namespace fairlead::service {

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

namespace {

std::vector<report::JobOnLinks> JobsOf(const NetworkSnapshot& snapshot) {
  std::map<std::string, double> lost;
  for (const controller::JobOnFabric& job : snapshot.jobs) lost[job.name] = job.lost_gpus().value_or(0);
  std::vector<report::JobOnLinks> jobs;
  for (const controller::JobPaths& job : snapshot.paths) jobs.push_back({job.name, job.links});
  std::ranges::stable_sort(jobs, [&](const report::JobOnLinks& a, const report::JobOnLinks& b) {
    return std::pair(-lost[a.name], a.name) < std::pair(-lost[b.name], b.name);
  });
  return jobs;
}

Status NoSuchMoment(int64_t at_s, const NetworkPast& past) {
  if (past.begins.empty()) return NotFound(fmt::format("nothing is kept yet of the network at {}", at_s));
  return NotFound(fmt::format("nothing is kept of the network at {}; the first period began at {}, the last one at {}",
                              at_s, past.begins.front(), past.begins.back()));
}

}  // namespace

Result<Json> TopologyJson(const topology::Fabric& fabric, const NetworkSource& source, const HttpQuery& query) {
  report::PictureOptions options;
  std::optional<int64_t> at_s;
  for (const auto& [name, value] : query) {
    if (name == "at") {
      at_s = ParseWhole<int64_t>(value);
      if (!at_s) return InvalidArgument(fmt::format("'at' is '{}'; expected whole seconds since 1970", value));
    } else if (name == "open" || name == "job") {
      (name == "open" ? options.open : options.job) = value;
    } else {
      return InvalidArgument(fmt::format("unknown parameter '{}'; known: at, open, job", name));
    }
  }
  if (at_s && !options.job.empty()) {
    return InvalidArgument("the paths that a job had then are not kept: leave out 'job', or 'at'");
  }
  NetworkPast past = source.remember(at_s);
  report::PictureInput input{.fabric = fabric, .conditions = {}, .jobs = {}};
  if (at_s) {
    if (!past.conditions) return NoSuchMoment(*at_s, past);
    input.conditions = *std::move(past.conditions);
  } else {
    const NetworkSnapshot snapshot = source.look();
    input.conditions = ConditionsOf(fabric, snapshot.links);
    input.jobs = JobsOf(snapshot);
  }
  FL_ASSIGN_OR_RETURN(const report::TopologyPicture picture, report::MakePicture(input, options));
  Json json = report::PictureJson(picture);
  if (at_s) json["at_s"] = *at_s;
  json["period_s"] = past.period_s;
  json["moments"] = std::move(past.begins);
  return json;
}

HttpRoute TopologyRoute(const topology::Fabric& fabric, NetworkSource source) {
  HttpRoute route;
  route.path = "/v1/topology";
  route.ask = [&fabric, source = std::move(source)](const HttpQuery& query) {
    return TopologyJson(fabric, source, query);
  };
  return route;
}

}  // namespace fairlead::service
