#include "traffic/c4p/loss_attribution.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <compare>
#include <numeric>
#include <set>
#include <span>
#include <vector>

#include "base/check.h"

namespace fairlead::traffic::c4p {
namespace {

constexpr uint32_t kNone = ~uint32_t{0};

// A link that some probe crosses.
struct Suspect {
  LinkId link;
  std::span<const uint32_t> probes;  // that cross it, ascending
  uint64_t sent = 0;
  uint64_t lost = 0;
  uint64_t clean_packets = 0;  // of probes without any loss
  uint64_t open_probes = 0;    // lossy ones not explained yet
  bool cleared = false;
};

// The order in which links are blamed.
struct Claim {
  uint64_t open_probes = 0;
  uint64_t clean_packets = 0;
  uint32_t suspect = 0;  // suspects are sorted by link

  friend bool operator<(const Claim& a, const Claim& b) {
    if (a.open_probes != b.open_probes) return a.open_probes > b.open_probes;
    if (a.clean_packets != b.clean_packets) return a.clean_packets < b.clean_packets;
    return a.suspect < b.suspect;
  }
};

class Attributor {
 public:
  Attributor(std::span<const ProbeResult> probes, size_t num_links, const AttributionOptions& options)
      : probes_(probes), options_(options), explained_by_(probes.size(), kNone) {
    CollectSuspects(num_links);
    for (Suspect& suspect : suspects_) Examine(&suspect);
  }

  Attribution Run() {
    BlameGreedily();
    std::sort(result_.blamed.begin(), result_.blamed.end());
    for (size_t p = 0; p < probes_.size(); ++p) {
      if (is_valid_[p] && IsLossy(probes_[p]) && explained_by_[p] == kNone) {
        result_.num_unexplained += probes_[p].num_probes;
      }
    }
    for (uint32_t s = 0; s < suspects_.size(); ++s) Observe(s);
    return std::move(result_);
  }

 private:
  bool IsBelowLimit(uint64_t sent, uint64_t lost) const {
    return static_cast<double>(lost) < options_.loss_limit * static_cast<double>(sent);
  }
  bool IsLossy(const ProbeResult& probe) const { return !IsBelowLimit(probe.sent, probe.lost); }

  static bool IsValid(const ProbeResult& probe, size_t num_links) {
    return !probe.links.empty() && probe.num_probes > 0 && probe.sent > 0 && probe.lost <= probe.sent &&
           std::all_of(probe.links.begin(), probe.links.end(), [&](LinkId link) { return link.index() < num_links; });
  }

  // Probes of each link and links of each probe, both as one array with the start of each.
  void CollectSuspects(size_t num_links) {
    is_valid_.resize(probes_.size());
    std::vector<size_t> begins(num_links + 1, 0);  // [link]
    for (size_t p = 0; p < probes_.size(); ++p) {
      is_valid_[p] = IsValid(probes_[p], num_links);
      if (!is_valid_[p]) {
        result_.num_ignored_probes += probes_[p].num_probes;
        continue;
      }
      for (const LinkId link : probes_[p].links) ++begins[link.index() + 1];
    }
    std::partial_sum(begins.begin(), begins.end(), begins.begin());
    std::vector<size_t> ends = begins;  // [link] so far
    crossing_probes_.resize(begins.back());
    for (uint32_t p = 0; p < probes_.size(); ++p) {
      if (!is_valid_[p]) continue;
      for (const LinkId link : probes_[p].links) {
        size_t& end = ends[link.index()];
        const bool is_known = end > begins[link.index()] && crossing_probes_[end - 1] == p;
        if (!is_known) crossing_probes_[end++] = p;
      }
    }
    for (size_t l = 0; l < num_links; ++l) {
      if (ends[l] == begins[l]) continue;
      suspects_.emplace_back().link = LinkId(static_cast<uint32_t>(l));
      suspects_.back().probes = {crossing_probes_.data() + begins[l], crossing_probes_.data() + ends[l]};
    }
    IndexByProbe();
  }

  void IndexByProbe() {
    first_suspect_.assign(probes_.size() + 1, 0);
    for (const Suspect& suspect : suspects_) {
      for (const uint32_t p : suspect.probes) ++first_suspect_[p + 1];
    }
    std::partial_sum(first_suspect_.begin(), first_suspect_.end(), first_suspect_.begin());
    std::vector<size_t> ends(first_suspect_.begin(), first_suspect_.end() - 1);  // [probe] so far
    suspects_by_probe_.resize(first_suspect_.back());
    for (uint32_t s = 0; s < suspects_.size(); ++s) {
      for (const uint32_t p : suspects_[s].probes) suspects_by_probe_[ends[p]++] = s;
    }
  }

  // That the probe crosses, ascending; none where it is ignored.
  std::span<const uint32_t> SuspectsOf(uint32_t probe) const {
    return {suspects_by_probe_.data() + first_suspect_[probe], suspects_by_probe_.data() + first_suspect_[probe + 1]};
  }

  void Examine(Suspect* suspect) const {
    for (const uint32_t p : suspect->probes) {
      const ProbeResult& probe = probes_[p];
      suspect->sent += probe.num_probes * probe.sent;
      suspect->lost += probe.num_probes * probe.lost;
      if (probe.lost == 0) suspect->clean_packets += probe.num_probes * probe.sent;
      if (IsLossy(probe)) {
        suspect->open_probes += probe.num_probes;
      } else if (probe.sent >= options_.min_clearing_packets) {
        suspect->cleared = true;
      }
    }
    // All losses of its probes together bound its own from above.
    if (suspect->sent >= options_.min_clearing_packets && IsBelowLimit(suspect->sent, suspect->lost)) {
      suspect->cleared = true;
    }
  }

  Claim ClaimOf(uint32_t s) const { return {suspects_[s].open_probes, suspects_[s].clean_packets, s}; }

  void BlameGreedily() {
    std::set<Claim> claims;
    for (uint32_t s = 0; s < suspects_.size(); ++s) {
      if (!suspects_[s].cleared && suspects_[s].open_probes > 0) claims.insert(ClaimOf(s));
    }
    while (!claims.empty()) {
      const uint32_t blamed = claims.begin()->suspect;
      result_.blamed.push_back(suspects_[blamed].link);
      for (const uint32_t p : suspects_[blamed].probes) {
        if (IsLossy(probes_[p]) && explained_by_[p] == kNone) Explain(p, blamed, &claims);
      }
    }
  }

  void Explain(uint32_t probe, uint32_t blamed, std::set<Claim>* claims) {
    explained_by_[probe] = blamed;
    for (const uint32_t s : SuspectsOf(probe)) {
      const bool claims_it = claims->erase(ClaimOf(s)) > 0;
      suspects_[s].open_probes -= probes_[probe].num_probes;
      if (claims_it && suspects_[s].open_probes > 0) claims->insert(ClaimOf(s));
    }
  }

  void Observe(uint32_t s) {
    LinkObservation seen{.link = suspects_[s].link, .rtt = Seconds(0)};
    for (const uint32_t p : suspects_[s].probes) {
      const ProbeResult& probe = probes_[p];
      if (explained_by_[p] != kNone && explained_by_[p] != s) continue;
      seen.sent += probe.num_probes * probe.sent;
      if (explained_by_[p] == s) seen.lost += probe.num_probes * probe.lost;
      if (IsMeasured(probe.rtt) && (!IsMeasured(seen.rtt) || probe.rtt < seen.rtt)) seen.rtt = probe.rtt;
    }
    if (seen.sent > 0) result_.observations.push_back(seen);
  }

  std::span<const ProbeResult> probes_;
  const AttributionOptions& options_;
  std::vector<char> is_valid_;             // [probe]
  std::vector<uint32_t> crossing_probes_;  // by link
  std::vector<Suspect> suspects_;          // ascending by link
  std::vector<uint32_t> suspects_by_probe_;
  std::vector<size_t> first_suspect_;   // [probe] place in suspects_by_probe_, and the end
  std::vector<uint32_t> explained_by_;  // [probe] a suspect, or kNobody
  Attribution result_;
};

}  // namespace

bool IsMeasured(Seconds rtt) { return std::isfinite(rtt.value()) && rtt > Seconds(0); }

Status AttributionOptions::Validate() const {
  if (!(loss_limit > 0 && loss_limit <= 1)) {
    return InvalidArgument(fmt::format("c4p: loss_limit: expected a fraction in (0, 1], found {}", loss_limit));
  }
  if (min_clearing_packets < 1) return InvalidArgument("c4p: min_clearing_packets: expected >= 1, found 0");
  return OkStatus();
}

Attribution AttributeLosses(std::span<const ProbeResult> probes, size_t num_links, const AttributionOptions& options) {
  FL_CHECK(options.Validate().ok());
  return Attributor(probes, num_links, options).Run();
}

}  // namespace fairlead::traffic::c4p
