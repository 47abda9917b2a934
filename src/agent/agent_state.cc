#include "agent/agent_state.h"

#include <fmt/format.h>

#include <charconv>
#include <limits>
#include <nlohmann/json.hpp>
#include <optional>
#include <type_traits>

#include "base/random.h"
#include "shm/job_name.h"

namespace fairlead::agent {
namespace {

using Json = nlohmann::json;

constexpr std::string_view kTitle = "fairlead-agent-state";

uint64_t ChecksumOf(std::string_view text) {
  uint64_t hash = text.size();
  for (const char c : text) hash = CombineHash(hash, static_cast<unsigned char>(c));
  return hash;
}

Json ToJson(const KeptConnection& held) {
  const controller::WantedConnection& wanted = held.wanted;
  return {{"job", held.job},
          {"connection", wanted.connection},
          {"source", wanted.source.ToString()},
          {"destination", wanted.destination.ToString()},
          {"weight", wanted.weight},
          {"protocol", wanted.protocol},
          {"destination_port", wanted.destination_port},
          {"pid", held.pid},
          {"inode", held.inode},
          {"socket_port", held.socket_port},
          {"wire_port", held.wire_port},
          {"is_answered", held.is_answered},
          {"kind", static_cast<int>(held.answer.kind)},
          {"plane", held.answer.plane},
          {"path", held.answer.path},
          {"port", held.answer.port},
          {"epoch", held.answer.epoch}};
}

Json ToJson(const KeptAlias& alias) {
  return {{"alias", alias.alias},
          {"source", alias.source.ToString()},
          {"destination", alias.destination.ToString()},
          {"destination_port", alias.destination_port},
          {"socket_port", alias.socket_port},
          {"wire_ports", alias.wire_ports}};
}

Json ToJson(const KeptAccepted& accepted) {
  return {{"job", accepted.job}, {"pid", accepted.pid}, {"inode", accepted.inode}, {"is_ipv6", accepted.is_ipv6}};
}

Json ToJson(const KeptRest& rest) {
  return {{"connection", rest.connection},
          {"source", rest.source.ToString()},
          {"destination", rest.destination.ToString()},
          {"destination_port", rest.destination_port},
          {"port", rest.port}};
}

// Reads fields of one object; the first that is missing or not of its type is remembered.
class Fields {
 public:
  explicit Fields(const Json& object) : object_(object) {}

  template <class T>
  void Read(const char* key, T* value) {
    const Json* field = Find(key);
    if (field == nullptr) return;
    if constexpr (std::is_same_v<T, bool>) {
      if (!field->is_boolean()) return Fail(key);
      *value = field->get<bool>();
    } else if constexpr (std::is_integral_v<T>) {
      ReadInteger(key, *field, value);
    } else if constexpr (std::is_floating_point_v<T>) {
      if (!field->is_number()) return Fail(key);
      *value = field->get<T>();
    } else {
      if (!field->is_string()) return Fail(key);
      *value = field->get<std::string>();
    }
  }
  void Read(const char* key, IpAddress* value) {
    std::string text;
    Read(key, &text);
    if (text == "::") return;
    const auto address = ParseIpAddress(text);
    if (!address.ok()) return Fail(key);
    *value = *address;
  }
  void Read(const char* key, std::vector<uint16_t>* value) {
    const Json* field = Find(key);
    if (field == nullptr || !field->is_array()) return Fail(key);
    for (const Json& entry : *field) {
      uint16_t port = 0;
      ReadInteger(key, entry, &port);
      value->push_back(port);
    }
  }
  void Fail(const std::string& key) {
    if (!wrong_.has_value()) wrong_ = key;
  }
  const std::optional<std::string>& wrong() const { return wrong_; }

 private:
  const Json* Find(const char* key) {
    const auto found = object_.is_object() ? object_.find(key) : object_.end();
    if (object_.is_object() && found != object_.end()) return &*found;
    Fail(key);
    return nullptr;
  }
  template <class T>
  void ReadInteger(const char* key, const Json& field, T* value) {
    if (field.is_number_unsigned() && field.get<uint64_t>() <= static_cast<uint64_t>(std::numeric_limits<T>::max())) {
      *value = static_cast<T>(field.get<uint64_t>());
    } else {
      Fail(key);
    }
  }

  const Json& object_;
  std::optional<std::string> wrong_;
};

std::optional<std::string> FromJson(const Json& json, KeptConnection* held) {
  Fields fields(json);
  uint8_t kind = 0;
  fields.Read("job", &held->job);
  if (!shm::IsProcessJobName(held->job)) fields.Fail("job");
  fields.Read("connection", &held->wanted.connection);
  fields.Read("source", &held->wanted.source);
  fields.Read("destination", &held->wanted.destination);
  fields.Read("weight", &held->wanted.weight);
  fields.Read("protocol", &held->wanted.protocol);
  fields.Read("destination_port", &held->wanted.destination_port);
  fields.Read("pid", &held->pid);
  fields.Read("inode", &held->inode);
  fields.Read("socket_port", &held->socket_port);
  fields.Read("wire_port", &held->wire_port);
  fields.Read("is_answered", &held->is_answered);
  fields.Read("kind", &kind);
  fields.Read("plane", &held->answer.plane);
  fields.Read("path", &held->answer.path);
  fields.Read("port", &held->answer.port);
  fields.Read("epoch", &held->answer.epoch);
  if (kind > static_cast<uint8_t>(traffic::QueuePairAnswer::Kind::kUnmanaged)) fields.Fail("kind");
  held->answer.kind = static_cast<traffic::QueuePairAnswer::Kind>(kind);
  return fields.wrong();
}

std::optional<std::string> FromJson(const Json& json, KeptAlias* alias) {
  Fields fields(json);
  fields.Read("alias", &alias->alias);
  fields.Read("source", &alias->source);
  fields.Read("destination", &alias->destination);
  fields.Read("destination_port", &alias->destination_port);
  fields.Read("socket_port", &alias->socket_port);
  fields.Read("wire_ports", &alias->wire_ports);
  return fields.wrong();
}

std::optional<std::string> FromJson(const Json& json, KeptAccepted* accepted) {
  Fields fields(json);
  fields.Read("job", &accepted->job);
  if (!shm::IsProcessJobName(accepted->job)) fields.Fail("job");
  fields.Read("pid", &accepted->pid);
  fields.Read("inode", &accepted->inode);
  fields.Read("is_ipv6", &accepted->is_ipv6);
  return fields.wrong();
}

std::optional<std::string> FromJson(const Json& json, KeptRest* rest) {
  Fields fields(json);
  fields.Read("connection", &rest->connection);
  fields.Read("source", &rest->source);
  fields.Read("destination", &rest->destination);
  fields.Read("destination_port", &rest->destination_port);
  fields.Read("port", &rest->port);
  return fields.wrong();
}

template <class T>
Json ToArray(const std::vector<T>& entries) {
  Json array = Json::array();
  for (const T& entry : entries) array.push_back(ToJson(entry));
  return array;
}

template <class T>
Status ReadArray(const Json& json, const char* key, const std::string& where, std::vector<T>* entries) {
  const auto array = json.find(key);
  if (array == json.end() || !array->is_array()) {
    return {StatusCode::kDataLoss, fmt::format("{}: '{}' is missing or no list", where, key)};
  }
  for (const Json& entry : *array) {
    if (const auto wrong = FromJson(entry, &entries->emplace_back())) {
      return {StatusCode::kDataLoss,
              fmt::format("{}: '{}' of an entry of '{}' is missing or can't be", where, *wrong, key)};
    }
  }
  return OkStatus();
}

}  // namespace

std::string WriteAgentState(const AgentState& state) {
  const Json json = {{"connections", ToArray(state.connections)},
                     {"aliases", ToArray(state.aliases)},
                     {"accepted", ToArray(state.accepted)},
                     {"rests", ToArray(state.rests)},
                     {"levels", state.levels}};
  // Names come from processes: what is no UTF-8 was refused when they asked.
  return SealAgentState(json.dump(-1, ' ', true, Json::error_handler_t::replace));
}

std::string SealAgentState(std::string_view json) {
  return fmt::format("{} {} {:016x}\n{}", kTitle, kStateVersion, ChecksumOf(json), json);
}

Result<AgentState> ReadAgentState(std::string_view text, const std::string& where) {
  const auto damaged = [&](std::string_view what) {
    return Status(StatusCode::kDataLoss, fmt::format("{}: {}", where, what));
  };
  const size_t line_end = text.find('\n');
  if (line_end == text.npos || !text.starts_with(fmt::format("{} ", kTitle))) {
    return damaged("no state of an agent, or cut");
  }
  const std::string_view line = text.substr(kTitle.size() + 1, line_end - kTitle.size() - 1);
  int version = 0;
  const auto [rest, error] = std::from_chars(line.data(), line.data() + line.size(), version);
  if (error != std::errc()) return damaged("no version");
  if (version != kStateVersion) {
    return Status(StatusCode::kFailedPrecondition,
                  fmt::format("{}: is of version {}, this agent reads {}", where, version, kStateVersion));
  }
  const std::string_view body = text.substr(line_end + 1);
  if (std::string_view(rest, line.data() + line.size()) != fmt::format(" {:016x}", ChecksumOf(body))) {
    return damaged("does not match its checksum");
  }
  const Json json = Json::parse(body, nullptr, false);
  if (!json.is_object()) return damaged("no JSON object");
  AgentState state;
  FL_RETURN_IF_ERROR(ReadArray(json, "connections", where, &state.connections));
  FL_RETURN_IF_ERROR(ReadArray(json, "aliases", where, &state.aliases));
  FL_RETURN_IF_ERROR(ReadArray(json, "accepted", where, &state.accepted));
  // Agents before 0.4 wrote none.
  if (json.contains("rests")) FL_RETURN_IF_ERROR(ReadArray(json, "rests", where, &state.rests));
  const auto levels = json.find("levels");
  if (levels == json.end() || !levels->is_object()) return damaged("'levels' is missing or no object");
  for (const auto& [job, level] : levels->items()) {
    if (!level.is_number_unsigned() || level.get<uint64_t>() > 7) return damaged("a level is not 0 .. 7");
    state.levels[job] = level.get<uint32_t>();
  }
  return state;
}

}  // namespace fairlead::agent
