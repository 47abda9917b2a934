#include "lab/findings_page.h"

#include <fmt/format.h>
#include <httplib.h>

#include <nlohmann/json.hpp>
#include <utility>

#include "wire/request_failure.h"

namespace fairlead::lab {

namespace {

constexpr int kPatienceSeconds = 5;
// A gateway drops a client that sends nothing for a second after connecting: on a busy machine that may be one that was
// about to.
constexpr int kNumTries = 5;

}  // namespace

Result<std::vector<wire::LiveFinding>> GetFindings(const std::string& page) {
  const std::string url = fmt::format("http://{}/v1/findings", page);
  httplib::Client client("http://" + page);
  client.set_connection_timeout(kPatienceSeconds);
  client.set_read_timeout(kPatienceSeconds);
  auto answer = client.Get("/v1/findings");
  for (int i = 1; i < kNumTries && !answer && answer.error() == httplib::Error::Read; ++i) {
    answer = client.Get("/v1/findings");
  }
  if (!answer) return Unavailable(fmt::format("{}: {}", url, wire::Describe(answer.error())));
  if (answer->status != 200) return Unavailable(fmt::format("{}: answered with status {}", url, answer->status));
  FL_ASSIGN_OR_RETURN(wire::FindingList list,
                      wire::ReadAnswer<wire::FindingList>(nlohmann::json::parse(answer->body, nullptr, false), url));
  return std::move(list.findings);
}

}  // namespace fairlead::lab
