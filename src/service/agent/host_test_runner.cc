#include "service/agent/host_test_runner.h"

#include <fmt/format.h>

#include <charconv>
#include <chrono>
#include <cmath>
#include <utility>

#include "model/job_name.h"
#include "service/agent/bandwidth_transfer.h"
#include "service/steering/exec_hook.h"

namespace fairlead::service {

using controller::HostTestDone;
using controller::HostTestKind;
using controller::HostTestWanted;

namespace {

// How much longer than it was told burn-in may take; less than the controller waits.
constexpr std::chrono::seconds kBurnInPatience{5};

TransferOptions OptionsOf(const HostTestWanted& wanted) {
  TransferOptions options;
  options.local = wanted.local;
  options.peer = wanted.peer;
  options.port = wanted.port;
  options.secret = wanted.secret;
  options.num_streams = wanted.num_streams;
  options.rate_max = wanted.rate_max;
  options.length = wanted.length;
  return options;
}

}  // namespace

HostTestRunner::HostTestRunner(std::vector<std::string> burn_in, EventInbox* inbox)
    : burn_in_(std::move(burn_in)), inbox_(inbox), stop_(std::make_shared<std::atomic<bool>>(false)) {}

HostTestRunner::~HostTestRunner() {
  Stop();
  for (Running& one : running_) one.thread.join();
}

void HostTestRunner::Stop() {
  *stop_ = true;
  stop_ = std::make_shared<std::atomic<bool>>(false);
}

void HostTestRunner::Run(const HostTestWanted& wanted) {
  std::erase_if(running_, [](Running& one) {
    if (!*one.is_over) return false;
    one.thread.join();
    return true;
  });
  auto is_over = std::make_shared<std::atomic<bool>>(false);
  std::thread thread([this, wanted, stop = stop_, is_over] {
    inbox_->Push(agent::HostTestEnded{Do(wanted, *stop)});
    *is_over = true;
  });
  running_.push_back({.thread = std::move(thread), .is_over = std::move(is_over)});
}

HostTestDone HostTestRunner::Do(const HostTestWanted& wanted, const std::atomic<bool>& stop) {
  HostTestDone done;
  done.test = wanted.test;
  switch (wanted.kind) {
    case HostTestKind::kReceive:
      Receive(wanted, stop, &done);
      break;
    case HostTestKind::kSend: {
      const auto sent = SendTransfer(OptionsOf(wanted), stop);
      done.error = sent.status().message();
      if (!sent.ok()) break;
      done.lost_share = sent->lost_share;
      done.rtt = sent->rtt;
      break;
    }
    case HostTestKind::kBurnIn:
      BurnIn(wanted, stop, &done);
      break;
  }
  return done;
}

void HostTestRunner::Receive(const HostTestWanted& wanted, const std::atomic<bool>& stop, HostTestDone* done) {
  auto receiver = TransferReceiver::Open(OptionsOf(wanted));
  if (!receiver.ok()) {
    done->error = receiver.status().message();
    done->is_refused = true;
    return;
  }
  inbox_->Push(agent::HostTestListens{.test = wanted.test, .port = receiver->port()});
  const auto rate = receiver->Receive(stop);
  done->error = rate.status().message();
  if (rate.ok()) done->rate = *rate;
}

void HostTestRunner::BurnIn(const HostTestWanted& wanted, const std::atomic<bool>& stop, HostTestDone* done) {
  if (burn_in_.empty()) {
    done->error = "this agent has no program for it (agent run --burn-in)";
    done->is_refused = true;
    return;
  }
  ExecHookOptions options;
  options.command = burn_in_;
  const auto seconds = static_cast<int64_t>(std::ceil(wanted.length.seconds().value()));
  options.command.push_back(std::to_string(seconds));
  options.deadline = std::chrono::seconds(seconds) + kBurnInPatience;
  options.separates_errors = true;
  options.stop = &stop;
  const auto ran = RunExecHook(options, "");
  if (!ran.ok()) {
    done->error = ran.status().message();
    done->is_refused = true;
    return;
  }
  const std::string_view line = LastLine(ran->output);
  double score = 0;
  const auto [end, error] = std::from_chars(line.data(), line.data() + line.size(), score);
  const bool is_score = error == std::errc() && end == line.data() + line.size() && std::isfinite(score) && score >= 0;
  if (stop) {
    done->error = "it was stopped";
    done->is_refused = true;
  } else if (ran->timed_out) {
    done->error = fmt::format("it did not end within {} s", options.deadline.count() / 1000);
  } else if (!ran->ok()) {
    const std::string_view said = LastLine(ran->errors.empty() ? ran->output : ran->errors);
    done->error = fmt::format("exit code {}: {}", ran->exit_code, model::PrintableText(said));
  } else if (!is_score) {
    done->error = fmt::format("expected a number as its last line, found '{}'", model::PrintableText(line));
    done->is_refused = true;  // the program's fault
  } else {
    done->score = score;
  }
}

}  // namespace fairlead::service
