#include "agent/agent_state.h"

#include <fmt/format.h>

#include <algorithm>
#include <charconv>

#include "base/random.h"
#include "codec/field_rules.h"
#include "codec/json_archive.h"
#include "controller/host_message_fields.h"

namespace fairlead::agent {

constexpr uint32_t kLevelMax = 7;

template <class Archive, codec::IsRecord<KeptConnection> Record>
void Describe(Archive& archive, Record& kept) {
  archive.Required("job", kept.job, controller::JobKey());
  Describe(archive, kept.wanted);
  archive.Required("inode", kept.inode);
  archive.Required("socket_port", kept.socket_port);
  archive.Required("wire_port", kept.wire_port);
  archive.Required("is_answered", kept.is_answered);
  Describe(archive, kept.answer);
}

template <class Archive, codec::IsRecord<KeptAlias> Record>
void Describe(Archive& archive, Record& alias) {
  archive.Required("alias", alias.alias);
  archive.Required("source", alias.source);
  archive.Required("destination", alias.destination);
  archive.Required("destination_port", alias.destination_port);
  archive.Required("socket_port", alias.socket_port);
  archive.Required("wire_ports", alias.wire_ports);
}

template <class Archive, codec::IsRecord<KeptAccepted> Record>
void Describe(Archive& archive, Record& accepted) {
  archive.Required("job", accepted.job, controller::JobKey());
  archive.Required("pid", accepted.pid);
  archive.Required("inode", accepted.inode);
  archive.Required("is_ipv6", accepted.is_ipv6);
}

template <class Archive, codec::IsRecord<KeptRest> Record>
void Describe(Archive& archive, Record& rest) {
  archive.Required("connection", rest.connection);
  archive.Required("source", rest.source);
  archive.Required("destination", rest.destination);
  archive.Required("destination_port", rest.destination_port);
  archive.Required("port", rest.port);
}

template <class Archive, codec::IsRecord<AgentState> Record>
void Describe(Archive& archive, Record& state) {
  archive.Required("connections", state.connections);
  archive.Required("aliases", state.aliases);
  archive.Required("accepted", state.accepted);
  archive.Optional("rests", state.rests);  // agents before 0.4 wrote none
  archive.Required("levels", state.levels);
  archive.Law([&] {
    const auto is_level = [](const auto& level) { return level.second <= kLevelMax; };
    return std::ranges::all_of(state.levels, is_level) ? "" : "levels: expected 0 to 7";
  });
}

namespace {

constexpr std::string_view kTitle = "fairlead-agent-state";

uint64_t ChecksumOf(std::string_view text) {
  uint64_t hash = text.size();
  for (const char c : text) hash = CombineHash(hash, static_cast<unsigned char>(c));
  return hash;
}

}  // namespace

std::string WriteAgentState(const AgentState& state) {
  // Names come from processes: what is no UTF-8 was refused when they asked.
  return SealAgentState(codec::ToJson(state).dump(-1, ' ', true, codec::Json::error_handler_t::replace));
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
  const Result<codec::Json> json = codec::ParseJson(body, where, 2);
  if (!json.ok()) return Status(StatusCode::kDataLoss, std::string(json.status().message()));
  AgentState state;
  std::string fault = codec::ReadValue(*json, codec::UnknownKeys::kIgnored, &state);
  if (fault.empty()) fault = codec::FindRecordFault(state);
  if (!fault.empty()) return damaged(codec::WithoutJoint(fault));
  return state;
}

}  // namespace fairlead::agent
