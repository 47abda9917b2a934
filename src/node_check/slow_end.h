// Which end of a slow connection is slow: its sender, its receiver, the path between them, or the fabric.
//
//     A = sender, B = receiver of the connection; C, D = bystanders, hosts of like place that nothing is held against
//
//     step 1   A -> C   D -> B         step 2   C -> A   B -> D         step 3   A -> B   C -> D
//
// Problem     telemetry of a ring names a pair, as each of its connections has one sender and one receiver.
// Method      each end is measured with a bystander, in both directions, and the bystanders with each other; three
//             times, because one second of a network says little. What is slow in two of three times is slow.
// Guarantees  who gives no answer is not blamed. Nothing is decided where the bystanders are slow themselves. No host
//             has two transfers in one direction at once.
// Cost        9 steps.
// Reference   Dong et al., C4, HPCA 2025; docs/spec/c4.md section 7.4.
#pragma once

#include <array>
#include <cstdint>
#include <span>
#include <string_view>
#include <vector>

#include "base/units.h"
#include "node_check/transfer_plan.h"

namespace fairlead::node_check {

enum class SlowEnd : uint8_t {
  kUndecided,  // too few answers
  kNeither,    // nothing is slow any more
  kSender,     // A sends slowly, to whomever
  kReceiver,   // B receives slowly, from whomever
  kBoth,
  kPath,    // only between the two: another path helps
  kFabric,  // the bystanders are slow, too
};

// "undecided", "neither", "sender", "receiver", "both", "path", "fabric".
std::string_view Name(SlowEnd end);

class SlowEndSearch final : public TransferPlan {
 public:
  // Numbers of hosts in transfers.
  static constexpr uint32_t kSender = 0;
  static constexpr uint32_t kReceiver = 1;
  static constexpr uint32_t kBystander = 2;
  static constexpr uint32_t kOtherBystander = 3;

  // Args: NICs of the connection; bystanders use the one of the end that they are measured with.
  SlowEndSearch(uint32_t sender_nic, uint32_t receiver_nic);

  std::span<const Transfer> step() const override;
  void Finish(std::span<const TransferResult> results) override;
  size_t num_steps() const override;
  size_t num_finished_steps() const override { return num_finished_; }

  // By what is measured so far.
  SlowEnd Verdict() const;
  // Of what the bystanders reach with each other, how much each direction of an end does, 0 or more; negative: unknown.
  double SenderShare() const { return ShareOf(0); }
  double ReceiverShare() const { return ShareOf(1); }

 private:
  // Below this share of the bystanders' median a transfer is slow.
  static constexpr double kSlowBelow = 0.8;
  static constexpr uint32_t kRounds = 3;
  static constexpr size_t kTransfers = 6;

  // Transfers of a round, in the order of the steps: two in each.
  double RateOf(size_t transfer) const;  // median of its rounds; negative: too few answers
  double ShareOf(size_t transfer) const;
  bool IsSlow(size_t transfer, double usual) const;

  std::array<Transfer, kTransfers> transfers_;
  std::array<std::vector<double>, kTransfers> rates_;  // bytes/s; 0: failed
  size_t num_finished_ = 0;
};

}  // namespace fairlead::node_check
