#include "service/http/steering_routes.h"

#include <fmt/format.h>

#include <algorithm>
#include <initializer_list>
#include <string_view>

#include "model/job_identity.h"

namespace fairlead::service {
namespace {

using Json = nlohmann::ordered_json;

// Of a text for the log, in bytes.
constexpr size_t kTextMax = 500;

Status CheckKeys(const Json& body, std::initializer_list<std::string_view> known) {
  for (const auto& item : body.items()) {
    if (std::find(known.begin(), known.end(), item.key()) == known.end()) {
      return InvalidArgument(fmt::format("unknown key '{}'; known: {}", item.key(), fmt::join(known, ", ")));
    }
  }
  return OkStatus();
}

Result<std::string> ReadText(const Json& body, const char* key) {
  const auto found = body.find(key);
  if (found == body.end() || !found->is_string() || found->get_ref<const std::string&>().empty() ||
      found->get_ref<const std::string&>().size() > kTextMax) {
    return InvalidArgument(fmt::format("{}: expected a text of 1 to {} bytes", key, kTextMax));
  }
  return found->get<std::string>();
}

Result<Json> Undo(LiveSteering* steering, const Json& body, const std::string& who) {
  FL_RETURN_IF_ERROR(CheckKeys(body, {"host"}));
  FL_ASSIGN_OR_RETURN(const std::string host, ReadText(body, "host"));
  return steering->UndoIsolation(host, who);
}

Result<Json> OfferSpare(LiveSteering* steering, const Json& body, const std::string& who) {
  FL_RETURN_IF_ERROR(CheckKeys(body, {"host"}));
  FL_ASSIGN_OR_RETURN(const std::string host, ReadText(body, "host"));
  return steering->OfferSpare(host, who);
}

Result<Json> Pause(LiveSteering* steering, const Json& body, const std::string& who) {
  FL_RETURN_IF_ERROR(CheckKeys(body, {"job", "for_s", "reason"}));
  FL_ASSIGN_OR_RETURN(const std::string job, ReadText(body, "job"));
  FL_RETURN_IF_ERROR(model::CheckJobKey(job, "job"));
  FL_ASSIGN_OR_RETURN(const std::string reason, ReadText(body, "reason"));
  const auto seconds = body.find("for_s");
  if (seconds == body.end() || !seconds->is_number()) {
    return InvalidArgument("for_s: expected a number of seconds; 0 ends a pause");
  }
  return steering->AnnouncePause(job, seconds->get<double>(), reason, who);
}

}  // namespace

std::vector<HttpRoute> SteeringRoutes(LiveSteering* steering) {
  const auto order = [steering](const auto& carry_out) {
    return [steering, carry_out](const Json& body, const std::string& who) { return carry_out(steering, body, who); };
  };
  return {{.path = "/v1/steering", .show = [steering] { return steering->ToJson(); }},
          {.path = "/v1/steering/undo", .change = order(Undo)},
          {.path = "/v1/steering/spare", .change = order(OfferSpare)},
          {.path = "/v1/steering/pause", .change = order(Pause)}};
}

}  // namespace fairlead::service
