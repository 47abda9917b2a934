#include "controller/slow_end_tests.h"

#include <fmt/format.h>

#include <memory>
#include <utility>

namespace fairlead::controller {

namespace {

constexpr size_t kBystanders = 2;
constexpr uint32_t kStreams = 4;
constexpr SimDuration kTransferLength(1'000'000'000);

}  // namespace

std::optional<TestedHost> SlowEndTests::FindHost(HostId host, NicId like) const {
  if (!tests_->CanTest(host) || tests_->IsReserved(host)) return std::nullopt;
  const uint32_t first = fabric_.first_nic(host).value();
  const uint32_t num_nics = fabric_.num_nics_of(host);
  const uint32_t place = like.valid() ? like.value() - fabric_.first_nic(fabric_.host_of(like)).value() : num_nics;
  if (place < num_nics) {
    const IpAddress address = addresses_.AddressOf(NicId(first + place));
    if (!address.is_unset()) return TestedHost{.host = host, .nics = {address}};
  }
  for (uint32_t n = 0; n < num_nics; ++n) {
    const IpAddress address = addresses_.AddressOf(NicId(first + n));
    if (!address.is_unset()) return TestedHost{.host = host, .nics = {address}};
  }
  return std::nullopt;
}

std::vector<HostId> SlowEndTests::FindBystanders(const SlowEndQuestion& question) const {
  std::set<HostId> known = {question.sender, question.receiver};
  std::vector<HostId> bystanders;
  const auto consider = [&](HostId host) {
    if (bystanders.size() == kBystanders || !known.insert(host).second) return;
    if (FindHost(host, question.sender_nic).has_value()) bystanders.push_back(host);
  };
  for (const HostId host : question.bystanders) consider(host);
  for (uint32_t h = 0; h < fabric_.num_hosts() && bystanders.size() < kBystanders; ++h) {
    if (jobs_.jobs_at(HostId(h)).empty()) consider(HostId(h));
  }
  return bystanders;
}

void SlowEndTests::Ask(SimTime now, const SlowEndQuestion& question) {
  const std::vector<HostId> bystanders = FindBystanders(question);
  std::vector<TestedHost> hosts;
  const auto add = [&](HostId host, NicId like) {
    if (auto tested = FindHost(host, like)) hosts.push_back(*std::move(tested));
  };
  add(question.sender, question.sender_nic);
  add(question.receiver, question.receiver_nic);
  for (const HostId host : bystanders) add(host, question.sender_nic);
  if (hosts.size() < 2 + kBystanders) return Answer(question, {.finding = question.finding});
  HostTestRuns::Transfer terms;
  terms.num_streams = kStreams;
  terms.length = kTransferLength;
  terms.despite_jobs = true;
  std::vector<HostId> reserved;
  for (const TestedHost& host : hosts) reserved.push_back(host.host);
  tests_->Reserve(reserved);
  auto plan = std::make_unique<node_check::SlowEndSearch>(0, 0);
  node_check::SlowEndSearch* borrowed = plan.get();
  Search& search =
      searches_.emplace_back(Search{.question = question,
                                    .plan = borrowed,
                                    .run = TransferPlanRun(std::move(plan), std::move(hosts), terms, tests_),
                                    .hosts = std::move(reserved)});
  outputs_->NoteHost(Noted::Severity::kInfo, question.sender,
                     fmt::format("tested, with {}, for which of them finding {} is about",
                                 fabric_.HostName(question.receiver), question.finding.value()));
  search.run.Begin(now);
}

void SlowEndTests::Take(SimTime now, const HostTestRuns::Ended& ended) {
  for (Search& search : searches_) {
    if (search.run.IsWaitingFor(ended.test)) search.run.Take(now, ended);
  }
}

void SlowEndTests::AnswerFinished() {
  for (auto search = searches_.begin(); search != searches_.end();) {
    if (!search->run.is_over()) {
      ++search;
      continue;
    }
    Answer(search->question, {.finding = search->question.finding,
                              .end = search->plan->Verdict(),
                              .sender_share = search->plan->SenderShare(),
                              .receiver_share = search->plan->ReceiverShare()});
    tests_->Release(search->hosts);
    search = searches_.erase(search);
  }
}

void SlowEndTests::Answer(const SlowEndQuestion& question, const SlowEndAnswer& answer) {
  outputs_->Add(answer);
  outputs_->NoteHost(Noted::Severity::kInfo, question.sender,
                     fmt::format("finding {}: which end of its connection to {} is at fault: {}",
                                 question.finding.value(), fabric_.HostName(question.receiver), Name(answer.end)));
}

}  // namespace fairlead::controller
