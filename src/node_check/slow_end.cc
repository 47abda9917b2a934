#include "node_check/slow_end.h"

#include <algorithm>

#include "base/check.h"
#include "base/statistics.h"

namespace fairlead::node_check {
namespace {

using Outcome = TransferResult::Outcome;

// Places in the list of transfers.
constexpr size_t kAToC = 0;
constexpr size_t kDToB = 1;
constexpr size_t kCToA = 2;
constexpr size_t kBToD = 3;
constexpr size_t kAToB = 4;
constexpr size_t kCToD = 5;
constexpr size_t kPerStep = 2;
constexpr size_t kAnswersMin = 2;  // of three

}  // namespace

std::string_view Name(SlowEnd end) {
  switch (end) {
    case SlowEnd::kUndecided:
      return "undecided";
    case SlowEnd::kNeither:
      return "neither";
    case SlowEnd::kSender:
      return "sender";
    case SlowEnd::kReceiver:
      return "receiver";
    case SlowEnd::kBoth:
      return "both";
    case SlowEnd::kPath:
      return "path";
    case SlowEnd::kFabric:
      return "fabric";
  }
  return "";
}

SlowEndSearch::SlowEndSearch(uint32_t sender_nic, uint32_t receiver_nic)
    : transfers_{{{kSender, kBystander, sender_nic, sender_nic},
                  {kOtherBystander, kReceiver, receiver_nic, receiver_nic},
                  {kBystander, kSender, sender_nic, sender_nic},
                  {kReceiver, kOtherBystander, receiver_nic, receiver_nic},
                  {kSender, kReceiver, sender_nic, receiver_nic},
                  {kBystander, kOtherBystander, sender_nic, receiver_nic}}} {}

size_t SlowEndSearch::num_steps() const { return kRounds * kTransfers / kPerStep; }

std::span<const Transfer> SlowEndSearch::step() const {
  if (num_finished_ == num_steps()) return {};
  const size_t first = num_finished_ * kPerStep % kTransfers;
  return std::span(transfers_).subspan(first, kPerStep);
}

void SlowEndSearch::Finish(std::span<const TransferResult> results) {
  FL_CHECK(num_finished_ < num_steps() && results.size() == kPerStep);
  const size_t first = num_finished_ * kPerStep % kTransfers;
  for (size_t i = 0; i < kPerStep; ++i) {
    if (results[i].outcome == Outcome::kNoAnswer) continue;
    rates_[first + i].push_back(results[i].outcome == Outcome::kFailed ? 0 : results[i].rate);
  }
  ++num_finished_;
}

double SlowEndSearch::RateOf(size_t transfer) const {
  return rates_[transfer].size() < kAnswersMin ? -1 : Median(rates_[transfer]);
}

double SlowEndSearch::ShareOf(size_t transfer) const {
  const double usual = RateOf(kCToD);
  return usual > 0 && RateOf(transfer) >= 0 ? RateOf(transfer) / usual : -1;
}

bool SlowEndSearch::IsSlow(size_t transfer, double usual) const {
  const auto is_slow = [&](double rate) { return rate < kSlowBelow * usual; };
  return std::ranges::count_if(rates_[transfer], is_slow) >= static_cast<std::ptrdiff_t>(kAnswersMin);
}

SlowEnd SlowEndSearch::Verdict() const {
  std::vector<double> others;
  for (const size_t transfer : {kAToC, kDToB, kCToA, kBToD, kAToB, kCToD}) {
    if (RateOf(transfer) < 0) return SlowEnd::kUndecided;
    if (transfer != kCToD) others.push_back(RateOf(transfer));
  }
  const double usual = RateOf(kCToD);
  // One end may be slow in both directions, and so with the other end: what the best others reach is possible.
  if (usual < kSlowBelow * *std::ranges::max_element(others) || usual <= 0) return SlowEnd::kFabric;
  // A bystander that receives badly is neither end's fault.
  if (!IsSlow(kAToB, usual)) return SlowEnd::kNeither;
  const bool sender = IsSlow(kAToC, usual);
  const bool receiver = IsSlow(kDToB, usual);
  if (sender && receiver) return SlowEnd::kBoth;
  if (sender) return SlowEnd::kSender;
  if (receiver) return SlowEnd::kReceiver;
  return SlowEnd::kPath;
}

}  // namespace fairlead::node_check
