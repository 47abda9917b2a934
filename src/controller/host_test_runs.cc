#include "controller/host_test_runs.h"

#include <algorithm>

namespace fairlead::controller {

using node_check::TransferResult;

namespace {

HostTestWanted WantedOf(const HostTestRuns::Transfer& transfer, uint64_t secret) {
  return {.kind = HostTestKind::kReceive,
          .local = transfer.destination,
          .peer = transfer.source,
          .secret = secret,
          .num_streams = transfer.num_streams,
          .rate_max = transfer.rate_max,
          .length = transfer.length,
          .despite_jobs = transfer.despite_jobs};
}

}  // namespace

uint64_t HostTestRuns::BeginTransfer(SimTime now, const Transfer& transfer) {
  const uint64_t secret = random_();
  Run run{.transfer = transfer,
          .secret = secret,
          .due = now + transfer.length + kPatience,
          .receiver = {.host = transfer.receiver, .done = {}},
          .sender = Part{.host = transfer.sender, .done = {}}};
  return Begin(std::move(run), WantedOf(transfer, secret));
}

uint64_t HostTestRuns::BeginBurnIn(SimTime now, HostId host, SimDuration length) {
  HostTestWanted wanted;
  wanted.kind = HostTestKind::kBurnIn;
  wanted.length = length;
  return Begin({.transfer = {},
                .secret = 0,
                .due = now + length + kPatience,
                .receiver = {.host = host, .done = {}},
                .sender = std::nullopt},
               wanted);
}

uint64_t HostTestRuns::Begin(Run run, const HostTestWanted& wanted) {
  const uint64_t test = ++num_tests_;
  Run& begun = runs_.emplace(test, std::move(run)).first->second;
  Ask(test, &begun.receiver, wanted);
  if (!begun.receiver.is_asked) End(test);
  return test;
}

void HostTestRuns::Ask(uint64_t test, Part* part, HostTestWanted wanted) {
  if (!CanTest(part->host)) return;
  part->is_asked = true;
  wanted.test = test;
  streams_->SendTo(part->host, std::move(wanted));
}

void HostTestRuns::Hear(HostId host, const HostTestReady& message) {
  const auto found = runs_.find(message.test);
  if (found == runs_.end() || !found->second.sender.has_value() || found->second.receiver.host != host ||
      found->second.sender->is_asked || message.port == 0) {
    return;
  }
  Run& run = found->second;
  HostTestWanted wanted = WantedOf(run.transfer, run.secret);
  wanted.kind = HostTestKind::kSend;
  std::swap(wanted.local, wanted.peer);
  wanted.port = message.port;
  Ask(message.test, &*run.sender, std::move(wanted));
  if (!run.sender->is_asked) End(message.test);
}

void HostTestRuns::Hear(HostId host, const HostTestDone& message) {
  const auto found = runs_.find(message.test);
  if (found == runs_.end()) return;
  Run& run = found->second;
  Part* part = run.receiver.host == host ? &run.receiver : nullptr;
  if (run.sender.has_value() && run.sender->host == host) part = &*run.sender;
  if (part == nullptr || !part->is_asked || part->done.has_value()) return;
  part->done = message;
  // Without one of them there is nothing to wait for.
  const bool is_refused = message.is_refused;
  const bool is_receiver_done_alone = part == &run.receiver && run.sender.has_value() && !run.sender->is_asked;
  const bool is_sender_done = !run.sender.has_value() || run.sender->done.has_value();
  if (is_refused || is_receiver_done_alone || (run.receiver.done.has_value() && is_sender_done)) End(message.test);
}

void HostTestRuns::Lose(HostId host) {
  std::vector<uint64_t> lost;
  for (const auto& [test, run] : runs_) {
    if (run.receiver.host == host || (run.sender.has_value() && run.sender->host == host)) lost.push_back(test);
  }
  for (const uint64_t test : lost) End(test);
}

void HostTestRuns::Tick(SimTime now) {
  std::vector<uint64_t> late;
  for (const auto& [test, run] : runs_) {
    if (run.due <= now) late.push_back(test);
  }
  for (const uint64_t test : late) End(test);
}

TransferResult HostTestRuns::ResultOf(const Run& run) {
  const auto& received = run.receiver.done;
  const bool is_burn_in = !run.sender.has_value();
  const std::optional<HostTestDone> sent = is_burn_in ? std::nullopt : run.sender->done;
  TransferResult result;
  for (const auto* done : {&received, &sent}) {
    if (done->has_value() && result.error.empty()) result.error = (*done)->error;
  }
  if (!received.has_value() || (!is_burn_in && !sent.has_value())) {
    if (result.error.empty()) result.error = "no answer";
    return result;
  }
  if (received->is_refused || (sent.has_value() && sent->is_refused)) return result;
  result.outcome = result.error.empty() ? TransferResult::Outcome::kMeasured : TransferResult::Outcome::kFailed;
  result.rate = received->rate;
  if (sent.has_value()) {
    result.lost_share = sent->lost_share;
    result.rtt = sent->rtt;
  }
  return result;
}

void HostTestRuns::End(uint64_t test) {
  const auto found = runs_.find(test);
  const Run& run = found->second;
  Ended ended;
  ended.test = test;
  ended.transfer = ResultOf(run);
  if (!run.sender.has_value() && run.receiver.done.has_value()) ended.score = run.receiver.done->score;
  const auto add = [&](const Part& part) {
    if (!part.done.has_value()) return;
    for (const model::HostSymptomRecord& record : part.done->symptoms) ended.symptoms.push_back({part.host, record});
  };
  add(run.receiver);
  if (run.sender.has_value()) add(*run.sender);
  ended_.push_back(std::move(ended));
  runs_.erase(found);
}

}  // namespace fairlead::controller
