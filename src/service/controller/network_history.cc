#include "service/controller/network_history.h"

#include <fmt/format.h>
#include <zstd.h>

#include <algorithm>
#include <cmath>
#include <utility>

namespace fairlead::service {

namespace {

constexpr int kPackLevel = 3;
constexpr size_t kMarkBytes = 8;
constexpr double kLoadSteps = 250;
// States: what is left of the capacity in percent, or one of these.
constexpr uint8_t kStateWhole = 100;
constexpr uint8_t kStateDown = 0;
constexpr uint8_t kStateInDoubt = 101;  // with all of its capacity, as far as is known

std::vector<LinkId> NetworkLinks(const topology::Fabric& fabric) {
  std::vector<LinkId> links;
  for (uint32_t l = 0; l < fabric.num_links(); ++l) {
    if (topology::IsNetwork(fabric.tier(LinkId(l)))) links.push_back(LinkId(l));
  }
  return links;
}

// FNV-1a: the same in each build of the program.
uint64_t HashOfNames(const topology::Fabric& fabric, std::span<const LinkId> links) {
  uint64_t hash = 0xcbf29ce484222325;
  for (const LinkId link : links) {
    for (const char c : fabric.LinkName(link) + '\n') {
      hash = (hash ^ static_cast<uint8_t>(c)) * 0x100000001b3;
    }
  }
  return hash;
}

std::string BytesOf(uint64_t value) {
  std::string bytes;
  for (size_t i = 0; i < 8; ++i) bytes += static_cast<char>(value >> (8 * i));
  return bytes;
}

uint64_t ValueOf(std::string_view bytes) {
  uint64_t value = 0;
  for (size_t i = 0; i < 8; ++i) value |= static_cast<uint64_t>(static_cast<uint8_t>(bytes[i])) << (8 * i);
  return value;
}

// A little load is not none.
uint8_t LoadStep(double load) { return static_cast<uint8_t>(std::ceil(std::clamp(load, 0.0, 1.0) * kLoadSteps)); }

uint8_t StateOf(const report::LinkCondition& condition) {
  if (condition.is_down) return kStateDown;
  if (condition.health >= 1) return condition.is_in_doubt ? kStateInDoubt : kStateWhole;
  return static_cast<uint8_t>(std::clamp(std::round(condition.health * 100), 1.0, 99.0));
}

report::LinkCondition ConditionOf(uint8_t load, uint8_t state) {
  report::LinkCondition condition{.load = static_cast<double>(load) / kLoadSteps};
  condition.is_down = state == kStateDown;
  condition.is_in_doubt = state != kStateWhole;
  condition.health = state >= kStateWhole ? 1 : static_cast<double>(state) / 100;
  return condition;
}

void WorsenTo(report::LinkCondition& worst, const report::LinkCondition& seen) {
  worst.is_down |= seen.is_down;
  worst.is_in_doubt |= seen.is_in_doubt;
  worst.health = std::min(worst.health, seen.health);
}

}  // namespace

NetworkHistory::NetworkHistory(const topology::Fabric& fabric, const NetworkHistoryOptions& options)
    : options_(options),
      num_links_(fabric.num_links()),
      network_(NetworkLinks(fabric)),
      fabric_mark_(BytesOf(HashOfNames(fabric, network_))) {}

std::string NetworkHistory::Pack() const {
  std::string bytes(2 * network_.size(), '\0');
  for (size_t i = 0; i < network_.size(); ++i) {
    bytes[i] = static_cast<char>(LoadStep(static_cast<double>(load_sums_[i]) / static_cast<double>(num_looks_)));
    bytes[network_.size() + i] = static_cast<char>(StateOf(worst_[i]));
  }
  std::string packed(ZSTD_compressBound(bytes.size()), '\0');
  packed.resize(ZSTD_compress(packed.data(), packed.size(), bytes.data(), bytes.size(), kPackLevel));
  packed.shrink_to_fit();
  return packed;
}

std::optional<std::string> NetworkHistory::Unpack(std::string_view packed) const {
  std::string bytes(2 * network_.size(), '\0');
  const size_t size = ZSTD_decompress(bytes.data(), bytes.size(), packed.data(), packed.size());
  if (ZSTD_isError(size) != 0 || size != bytes.size()) return std::nullopt;
  return bytes;
}

void NetworkHistory::Restore(SimTime now, std::span<const store::Record> records) {
  const auto now_s = static_cast<int64_t>(now.seconds().value());
  const int64_t oldest_s = now_s - period_s() * static_cast<int64_t>(options_.num_periods);
  for (const store::Record& record : records) {
    const std::string_view value = record.value;
    if (!record.key.starts_with(kPrefix) || value.size() < 2 * kMarkBytes || !value.starts_with(fabric_mark_)) continue;
    Period period{.at_s = static_cast<int64_t>(ValueOf(value.substr(kMarkBytes))),
                  .packed = std::string(value.substr(2 * kMarkBytes))};
    if (period.at_s <= oldest_s || period.at_s > now_s || period.at_s % period_s() != 0) continue;
    if (Unpack(period.packed)) periods_.push_back(std::move(period));
  }
  std::ranges::sort(periods_, {}, &Period::at_s);
}

std::optional<store::Change> NetworkHistory::Add(SimTime now, std::span<const report::LinkCondition> conditions) {
  const auto now_s = static_cast<int64_t>(now.seconds().value());
  const int64_t begin_s = now_s - now_s % period_s();
  std::optional<store::Change> change;
  if (at_s_ && *at_s_ != begin_s) {
    Period over{.at_s = *at_s_, .packed = Pack()};
    const auto place = static_cast<uint64_t>(over.at_s / period_s()) % options_.num_periods;
    change = store::Change{fmt::format("{}{:06}", kPrefix, place),
                           fabric_mark_ + BytesOf(static_cast<uint64_t>(over.at_s)) + over.packed};
    // A controller that was away for less than a period goes on in the same one, and forgets what was before.
    if (!periods_.empty() && periods_.back().at_s >= over.at_s) periods_.pop_back();
    periods_.push_back(std::move(over));
    if (periods_.size() > options_.num_periods) periods_.pop_front();
  }
  if (at_s_ != begin_s) {
    at_s_ = begin_s;
    num_looks_ = 0;
    load_sums_.assign(network_.size(), 0);
    worst_.assign(network_.size(), {});
  }
  ++num_looks_;
  for (size_t i = 0; i < network_.size(); ++i) {
    const report::LinkCondition& condition = conditions[network_[i].index()];
    load_sums_[i] += static_cast<float>(condition.load);
    WorsenTo(worst_[i], condition);
  }
  return change;
}

std::vector<int64_t> NetworkHistory::Begins() const {
  std::vector<int64_t> begins;
  for (const Period& period : periods_) begins.push_back(period.at_s);
  return begins;
}

std::optional<std::vector<report::LinkCondition>> NetworkHistory::At(int64_t at_s) const {
  const auto after = std::ranges::upper_bound(periods_, at_s, {}, &Period::at_s);
  if (after == periods_.begin() || at_s >= std::prev(after)->at_s + period_s()) return std::nullopt;
  const std::optional<std::string> bytes = Unpack(std::prev(after)->packed);
  if (!bytes) return std::nullopt;
  std::vector<report::LinkCondition> conditions(num_links_);
  for (size_t i = 0; i < network_.size(); ++i) {
    conditions[network_[i].index()] =
        ConditionOf(static_cast<uint8_t>((*bytes)[i]), static_cast<uint8_t>((*bytes)[network_.size() + i]));
  }
  return conditions;
}

}  // namespace fairlead::service
