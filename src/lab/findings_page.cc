#include "lab/findings_page.h"

#include <fmt/format.h>
#include <httplib.h>

#include <nlohmann/json.hpp>
#include <utility>

#include "wire/request_failure.h"

namespace fairlead::lab {

namespace {

// A gateway drops a client that sends nothing for a second after connecting: on a busy machine that may be one that was
// about to.
constexpr int kNumTries = 5;

template <typename List>
Result<List> GetList(const std::string& page, const std::string& path, int patience_s) {
  const std::string url = fmt::format("http://{}{}", page, path);
  httplib::Client client("http://" + page);
  client.set_connection_timeout(patience_s);
  client.set_read_timeout(patience_s);
  auto answer = client.Get(path);
  for (int i = 1; i < kNumTries && !answer && answer.error() == httplib::Error::Read; ++i) {
    answer = client.Get(path);
  }
  if (!answer) return Unavailable(fmt::format("{}: {}", url, wire::Describe(answer.error())));
  if (answer->status != 200) return Unavailable(fmt::format("{}: answered with status {}", url, answer->status));
  return wire::ReadAnswer<List>(nlohmann::json::parse(answer->body, nullptr, false), url);
}

}  // namespace

Result<std::vector<wire::LiveFinding>> GetFindings(const std::string& page, int patience_s) {
  FL_ASSIGN_OR_RETURN(wire::FindingList list, GetList<wire::FindingList>(page, "/v1/findings", patience_s));
  return std::move(list.findings);
}

Result<std::vector<wire::LiveConnection>> GetConnections(const std::string& page, int patience_s) {
  FL_ASSIGN_OR_RETURN(wire::ConnectionList list, GetList<wire::ConnectionList>(page, "/v1/connections", patience_s));
  return std::move(list.connections);
}

Result<std::vector<wire::LiveEvent>> GetEvents(const std::string& page, int patience_s) {
  FL_ASSIGN_OR_RETURN(wire::EventList list, GetList<wire::EventList>(page, "/v1/events", patience_s));
  return std::move(list.events);
}

}  // namespace fairlead::lab
