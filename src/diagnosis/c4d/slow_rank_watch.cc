#include "diagnosis/c4d/slow_rank_watch.h"

#include <algorithm>
#include <cmath>
#include <set>
#include <utility>

#include "base/statistics.h"
#include "diagnosis/c4d/robust_statistics.h"
#include "diagnosis/c4d/slow_stage.h"

namespace fairlead::diagnosis::c4d {

namespace {

// Chance of a job of healthy ranks to have one named.
constexpr double kFalseAlarms = 0.01;
// The margin while what is usual is not known.
constexpr double kMarginUnknown = 0.15;
constexpr double kCostMin = 0.03;
// How much slower than its like a rank may be by nature.
constexpr double kRatioMax = 1.15;
constexpr double kRatioMin = 0.5;
// Where all take longer, some do by more than others: by that share of what they have in common.
constexpr double kSharedDoubt = 0.25;
// Blocks of the past without which no one is told from it.
constexpr size_t kPastMin = 24;
// Latest blocks by which stages are compared; fewer tell nothing.
constexpr size_t kStageBlocks = 24;
// Ranks that are further apart do not do the same, whatever they look like.
constexpr double kAlikeMax = 3;
// A shorter block has little to say, and what disturbs one disturbs the next.
constexpr double kBlockSecondsMin = 2;
constexpr uint64_t kSlowBlocksMin = 3;
constexpr double kSlowSecondsMin = 20;
constexpr double kSurely = 2;  // standard errors
// Ranks of a role that must have reported a block, of those that report.
constexpr double kQuorum = 0.75;
// A rank that is that many blocks behind tells nothing.
constexpr uint64_t kBlocksBehind = 6;
// Blocks that most have passed are not waited for.
constexpr uint64_t kBlocksPast = 2;
// Below that, what raised the evidence was chance.
constexpr double kEvidenceMin = 3;
// Ranks with less are no suspects.
constexpr double kSuspicious = 1000;
// Share of a host's ranks that have to be slow.
constexpr double kHostShare = 0.6;
// A rank that is slower than most of its host by that factor is the cause: the others wait for it.
constexpr double kOutstanding = 1.8;
// Where the past is too short, hits say nothing.
constexpr double kHitChanceMax = 0.9;
constexpr double kTailIndex = 1.5;
constexpr double kTailMin = 1e-3;
// Weight of a block in the rate of hits, and the rate at which a slow rank is slow no more.
constexpr double kHitWeight = 1.0 / 24;
constexpr double kHitRateMin = 0.1;
// Weight of a block in the rate of slow ones, and the rate from which a rank seems to be slow: seven in a row.
constexpr double kSlowWeight = 1.0 / 6;
constexpr double kSlowRate = 0.7;
constexpr size_t kNamedMax = 16;
// A rank with less of the greatest of its host may only wait for that one, on streams of its own.
constexpr double kAlikeShare = 0.8;
// A rank with less of the greatest share may only be late with others.
constexpr double kNamedShare = 0.4;

// A value among those that are alike, itself included.
struct Standing {
  double others = -INFINITY;  // the greatest of the others
  double num_as_great = 0;    // of the others, within the margin
  double num = 0;
};

std::vector<Standing> FindStandings(const std::vector<double>& values, const std::vector<bool>& is_alike,
                                    double margin) {
  std::vector<double> alike;
  for (size_t i = 0; i < values.size(); ++i) {
    if (is_alike[i]) alike.push_back(values[i]);
  }
  std::ranges::sort(alike);
  const size_t num = alike.size();
  std::vector<Standing> standings(values.size());
  for (size_t i = 0; i < values.size(); ++i) {
    const bool is_counted = is_alike[i];
    const bool is_greatest = is_counted && values[i] == alike.back();
    Standing& standing = standings[i];
    if (num > (is_greatest ? 1U : 0U)) standing.others = alike[num - (is_greatest ? 2 : 1)];
    const auto as_great = std::ranges::lower_bound(alike, values[i] - margin);
    standing.num_as_great = static_cast<double>(alike.end() - as_great) - (is_counted ? 1 : 0);
    standing.num = static_cast<double>(num + (is_counted ? 0 : 1));
  }
  return standings;
}

// Of values of chance that exceed all these, which share exceeds them by so much: at most, unless tails are heavier
// than those of a Pareto distribution without a variance.
double TailBeyond(std::vector<double> values, double value) {
  const double greatest = *std::ranges::max_element(values);
  const double median = MedianInPlace(values);
  if (greatest <= median) return kTailMin;
  return std::clamp(std::pow((value - median) / (greatest - median), -kTailIndex), kTailMin, 1.0);
}

}  // namespace

SlowRankWatch::SlowRankWatch(const model::JobLayout& layout, double margin)
    : layout_(layout),
      margin_(margin),
      blocks_(layout.ranks.size()),
      history_(layout.ranks.size()),
      ranks_(layout.ranks.size()) {}

std::vector<model::IterationBlock> SlowRankWatch::BlocksOf(std::span<const model::RankId> ranks) const {
  if (role_of_.empty()) return {};
  const bool has_rank = !ranks.empty() && ranks.front().index() < role_of_.size();
  return history_.Of(role_of_[has_rank ? ranks.front().index() : 0], ranks);
}

void SlowRankWatch::MakeRoles(const std::vector<uint32_t>& stages) {
  stages_ = stages;
  roles_.clear();
  history_.Clear();
  role_of_.assign(stages.size(), 0);
  std::map<uint32_t, uint32_t> numbers;
  for (uint32_t rank = 0; rank < stages.size(); ++rank) {
    const auto [number, is_new] = numbers.try_emplace(stages[rank], static_cast<uint32_t>(roles_.size()));
    if (is_new) roles_.emplace_back();
    roles_[number->second].ranks.push_back(rank);
    role_of_[rank] = number->second;
    ranks_[rank] = {};
  }
}

void SlowRankWatch::Judge(const std::vector<uint32_t>& stages) {
  if (stages != stages_) MakeRoles(stages);
  for (const Role& role : roles_) blocks_.Learn(role.ranks);
  Judge(stages, blocks_.Take());
}

void SlowRankWatch::Judge(const std::vector<uint32_t>& stages, const std::vector<BlockSample>& samples) {
  if (stages != stages_) MakeRoles(stages);
  for (const BlockSample& sample : samples) {
    Role& role = roles_[role_of_[sample.rank]];
    ranks_[sample.rank].has_reported = true;
    ranks_[sample.rank].latest_index = sample.index;
    if (sample.index >= role.next) role.open[sample.index].push_back(sample);
  }
  for (Role& role : roles_) JudgeDue(role);
}

bool SlowRankWatch::IsDue(const Role& role, uint64_t index, size_t num_reported) const {
  const uint64_t newest = role.open.rbegin()->first;
  size_t num_awaited = 0;
  size_t num_past = 0;
  for (const uint32_t r : role.ranks) {
    const Rank& rank = ranks_[r];
    if (!rank.has_reported || rank.latest_index + kBlocksBehind * role.pieces_usual < newest) continue;
    ++num_awaited;
    num_past += rank.latest_index >= index + kBlocksPast * role.pieces_usual ? 1 : 0;
  }
  return num_reported >= num_awaited || static_cast<double>(num_past) >= kQuorum * static_cast<double>(num_awaited);
}

void SlowRankWatch::JudgeDue(Role& role) {
  while (!role.open.empty()) {
    const auto first = role.open.begin();
    if (!IsDue(role, first->first, first->second.size())) return;
    role.next = first->first + 1;
    std::vector<BlockSample> samples = std::move(first->second);
    role.open.erase(first);
    AddPiece(role, samples);
  }
}

// Of a rank without a report of a piece, the block is unknown.
void SlowRankWatch::AddPiece(Role& role, const std::vector<BlockSample>& samples) {
  std::vector<double> spans;
  for (const BlockSample& sample : samples) {
    Rank& rank = ranks_[sample.rank];
    if (rank.num_pieces++ == 0) {
      rank.under_way = sample;
    } else {
      rank.under_way.own_seconds += sample.own_seconds;
      rank.under_way.host_seconds += sample.host_seconds;
      rank.under_way.span_seconds += sample.span_seconds;
    }
    spans.push_back(sample.span_seconds);
  }
  ++role.num_pieces;
  role.seconds += MedianInPlace(spans);
  if (role.seconds < kBlockSecondsMin) return;
  std::vector<BlockSample> whole;
  for (const uint32_t r : role.ranks) {
    if (std::exchange(ranks_[r].num_pieces, 0) == role.num_pieces) whole.push_back(ranks_[r].under_way);
  }
  const auto num_awaited = static_cast<double>(std::ranges::count_if(role.ranks, [&](uint32_t r) {
    return ranks_[r].has_reported && ranks_[r].latest_index + kBlocksBehind * role.pieces_usual >= role.next;
  }));
  const uint32_t num_pieces = std::exchange(role.num_pieces, 0);
  role.seconds = 0;
  if (role.num_judged == 0) role.pieces_usual = num_pieces;
  if (static_cast<double>(whole.size()) >= kQuorum * num_awaited) JudgeBlock(role, std::move(whole), num_pieces);
}

void SlowRankWatch::JudgeBlock(Role& role, std::vector<BlockSample> samples, uint32_t num_pieces) {
  Block block{.samples = std::move(samples), .pieces = static_cast<double>(num_pieces), .x = {}, .host_x = {}};
  std::vector<double> spans;
  for (const BlockSample& sample : block.samples) spans.push_back(sample.span_seconds);
  block.seconds = MedianInPlace(spans);
  history_.Add(role_of_[role.ranks.front()], block.samples, block.seconds, block.pieces);
  if (role.ranks.size() == 1) NoteShare(block.samples.front(), block.seconds, &ranks_[role.ranks.front()]);
  if (role.ranks.size() >= kRoleMin) {
    if (block.samples.size() < kRoleMin) return;
    CompareWithRole(block);
  } else {
    NoteRatios(WatchedOf(block), block);
    CompareWithPast(WatchedOf(block), SharedFactor(), &block);
  }
  ++role.num_judged;
  AddToRanks(role, block);
  if (role.ranks.size() >= kRoleMin) AddToHosts(role, block);
  Learn(WatchedOf(block), block, role.ranks.size() < kRoleMin);
  role.recent_seconds.push_back(block.seconds / block.pieces);
  if (role.recent_seconds.size() <= kRecent) return;
  // What is recent does not count as usual yet.
  if (role.usual_seconds.size() < kBaselineMin) role.usual_seconds.push_back(role.recent_seconds.front());
  role.recent_seconds.erase(role.recent_seconds.begin());
}

void SlowRankWatch::NoteShare(const BlockSample& sample, double seconds, Rank* rank) {
  if (seconds <= 0) return;
  if (rank->shares.size() >= kStageBlocks) rank->shares.erase(rank->shares.begin());
  rank->shares.push_back(sample.own_seconds / seconds);
}

void SlowRankWatch::CompareWithRole(Block& block) {
  std::vector<double> ratios;
  std::vector<double> hosts;
  block.is_known = true;
  for (const BlockSample& sample : block.samples) {
    const Rank& rank = ranks_[sample.rank];
    block.is_known &= rank.baseline.has_value();
    ratios.push_back(sample.own_seconds / rank.baseline.value_or(1));
    hosts.push_back(sample.host_seconds);
  }
  const double usual = Median(ratios);
  const double usual_host = Median(hosts);
  for (const BlockSample& sample : block.samples) {
    block.x.push_back(sample.own_seconds - usual * ranks_[sample.rank].baseline.value_or(1));
    block.host_x.push_back(sample.host_seconds - usual_host);
  }
}

double SlowRankWatch::SharedFactor() const {
  std::vector<double> ratios;
  for (const Rank& rank : ranks_) {
    if (rank.latest_ratio > 0) ratios.push_back(rank.latest_ratio);
  }
  return ratios.size() < 2 ? 1 : LowerMedianInPlace(ratios);
}

std::vector<SlowRankWatch::Watched*> SlowRankWatch::WatchedOf(const Block& block) {
  std::vector<Watched*> watched;
  watched.reserve(block.samples.size());
  for (const BlockSample& sample : block.samples) watched.push_back(&ranks_[sample.rank]);
  return watched;
}

void SlowRankWatch::NoteRatios(const std::vector<Watched*>& watched, const Block& block) {
  for (size_t i = 0; i < watched.size(); ++i) {
    const auto& baseline = watched[i]->baseline;
    if (baseline && *baseline > 0) watched[i]->latest_ratio = block.samples[i].own_seconds / block.pieces / *baseline;
  }
}

void SlowRankWatch::CompareWithPast(const std::vector<Watched*>& watched, double shared, Block* block) {
  block->is_known = std::ranges::all_of(watched, [](const Watched* one) { return one->baseline.has_value(); });
  const double expected = shared + kSharedDoubt * std::max(0.0, shared - 1);
  for (size_t i = 0; i < watched.size(); ++i) {
    const BlockSample& sample = block->samples[i];
    const auto& baseline = watched[i]->baseline;
    const double usual = baseline.has_value() ? *baseline * block->pieces : sample.own_seconds / expected;
    block->x.push_back(sample.own_seconds - expected * usual);
    block->host_x.push_back(sample.host_seconds - expected * watched[i]->usual_host_seconds * block->pieces);
  }
}

// Of n blocks of the past, the chance to exceed all may be more than 1 / (n + 1), for good: it is at most c / (n + 1)
// with probability 1 - exp(-c). That may fail for no rank of the job.
void SlowRankWatch::AddByPast(const std::vector<Watched*>& watched, const Block& block) const {
  if (block.seconds <= 0) return;
  const double doubt = std::log(static_cast<double>(ranks_.size()) / kFalseAlarms);
  const double margin = (block.is_known ? margin_ : kMarginUnknown) * block.seconds;
  for (size_t i = 0; i < watched.size(); ++i) {
    const std::vector<PastBlock>& past = watched[i]->past;
    if (past.size() < kBaselineMin) continue;
    const double share = (block.x[i] - margin) / block.seconds;
    std::vector<double> before;
    for (const PastBlock& one : past) {
      // Chance has more to say in blocks of fewer pieces.
      before.push_back(one.share * std::sqrt(std::max(1.0, one.pieces / block.pieces)));
    }
    const auto as_slow = std::ranges::count_if(before, [share](double one) { return one >= share; });
    const double per_block = 1 / static_cast<double>(past.size() + 1);
    const double chance = std::min(kHitChanceMax, doubt * per_block);
    double rank_share = (doubt + 2 * static_cast<double>(as_slow)) * per_block;
    if (as_slow == 0) rank_share *= TailBeyond(std::move(before), share);
    AddTo(*watched[i], as_slow == 0, chance, rank_share, block.x[i], 0, block.host_x[i], block);
  }
}

void SlowRankWatch::AddToRanks(Role& role, const Block& block) {
  if (role.ranks.size() < kRoleMin) return AddByPast(WatchedOf(block), block);
  std::vector<Element*> ranks;
  for (const BlockSample& sample : block.samples) ranks.push_back(&ranks_[sample.rank]);
  AddByOthers(ranks, block.x, block.host_x, block);
}

// Those that are slow already would hide another that is less slow, and those that seem to be so, together, each other.
// That is known before the block: for one that is like those left, chance is what it was.
std::vector<bool> SlowRankWatch::AreAlike(const std::vector<Element*>& elements) {
  std::vector<bool> seem_alike;
  std::vector<bool> are_alike;
  for (const Element* element : elements) {
    are_alike.push_back(element->evidence.value() < kSuspicious);
    seem_alike.push_back(are_alike.back() && element->slow_rate < kSlowRate);
  }
  // Of what most have in common none is told.
  return 2 * std::ranges::count(seem_alike, true) > std::ssize(elements) ? seem_alike : are_alike;
}

void SlowRankWatch::AddByOthers(const std::vector<Element*>& elements, const std::vector<double>& x,
                                const std::vector<double>& host_x, const Block& block) const {
  const double margin = (block.is_known ? margin_ : kMarginUnknown) * block.seconds;
  const std::vector<Standing> standings = FindStandings(x, AreAlike(elements), margin);
  for (size_t i = 0; i < elements.size(); ++i) {
    const Standing& standing = standings[i];
    if (standing.num < 2) continue;
    AddTo(*elements[i], x[i] - margin > standing.others, 1 / standing.num, (1 + standing.num_as_great) / standing.num,
          x[i], standing.others, host_x[i], block);
  }
}

void SlowRankWatch::AddToHosts(Role& role, const Block& block) {
  std::map<HostId, std::vector<double>> x_of;
  std::map<HostId, std::vector<double>> host_x_of;
  for (size_t i = 0; i < block.x.size(); ++i) {
    const HostId host = layout_.ranks[block.samples[i].rank].host;
    x_of[host].push_back(block.x[i]);
    host_x_of[host].push_back(block.host_x[i]);
  }
  if (x_of.size() == 2) return AddToTwoHosts(role, block);
  if (x_of.size() < kRoleMin - 1) return;
  Element ignored;  // of hosts with one rank, which is judged as such
  std::vector<Element*> hosts;
  std::vector<double> values;
  std::vector<double> host_values;
  for (auto& [host, x] : x_of) {
    std::ranges::sort(x);
    hosts.push_back(x.size() < 2 ? &ignored : &role.hosts[host]);
    // So many of its ranks are at least that slow.
    values.push_back(x[static_cast<size_t>((1 - kHostShare) * static_cast<double>(x.size() - 1))]);
    host_values.push_back(LowerMedianInPlace(host_x_of[host]));
  }
  AddByOthers(hosts, values, host_values, block);
}

// Which of two is slow can't be seen by comparing them. What most ranks of a host take is compared with what they took,
// less what both hosts have in common.
void SlowRankWatch::AddToTwoHosts(Role& role, const Block& block) {
  std::map<HostId, std::vector<const BlockSample*>> samples_of;
  for (const BlockSample& sample : block.samples) samples_of[layout_.ranks[sample.rank].host].push_back(&sample);
  Block of_hosts{.samples = {}, .pieces = block.pieces, .x = {}, .host_x = {}, .seconds = block.seconds};
  std::vector<Watched*> hosts;
  for (auto& [host, samples] : samples_of) {
    if (samples.size() < 2) return;
    std::ranges::sort(samples, {}, &BlockSample::own_seconds);
    of_hosts.samples.push_back(
        *samples[static_cast<size_t>((1 - kHostShare) * static_cast<double>(samples.size() - 1))]);
    hosts.push_back(&role.hosts[host]);
  }
  NoteRatios(hosts, of_hosts);
  const double shared = std::min(hosts[0]->latest_ratio, hosts[1]->latest_ratio);
  CompareWithPast(hosts, shared > 0 ? shared : 1, &of_hosts);
  AddByPast(hosts, of_hosts);
  Learn(hosts, of_hosts, true);
}

void SlowRankWatch::AddTo(Element& element, bool is_hit, double hit_chance, double rank_share, double x, double others,
                          double host_x, const Block& block) const {
  if (element.evidence.value() < kEvidenceMin) {
    const SlowEvidence evidence = element.evidence;
    const double hit_rate = element.hit_rate;
    const double slow_rate = element.slow_rate;
    element = {};
    element.evidence = evidence;
    element.hit_rate = hit_rate;
    element.slow_rate = slow_rate;
  }
  element.evidence.Add(is_hit, hit_chance, std::min(1.0, rank_share));
  const bool is_slow = x > margin_ * block.seconds;
  element.hit_rate += kHitWeight * ((is_hit ? 1.0 : 0.0) - element.hit_rate);
  element.slow_rate += kSlowWeight * ((is_slow ? 1.0 : 0.0) - element.slow_rate);
  const double clipped = std::clamp(x, -block.seconds, block.seconds);
  ++element.blocks;
  element.slow_blocks += is_slow ? 1 : 0;
  element.slow_seconds += is_slow ? block.seconds : 0;
  element.seconds += block.seconds;
  element.pieces += block.pieces;
  element.sum += clipped;
  element.sum_2 += clipped * clipped;
  element.cost += std::max(0.0, clipped - std::max(0.0, others));
  element.host_seconds += std::clamp(host_x, 0.0, std::max(0.0, clipped));
}

void SlowRankWatch::Learn(const std::vector<Watched*>& watched, const Block& block, bool is_by_past) {
  std::vector<double> own;
  for (const BlockSample& sample : block.samples) own.push_back(sample.own_seconds);
  const double usual = Median(own);
  if (block.seconds <= 0 || (!is_by_past && usual <= 0)) return;
  std::vector<Watched*> fresh;  // whose usual values are known now
  for (size_t i = 0; i < watched.size(); ++i) {
    const double seconds = block.samples[i].own_seconds;
    Watched& one = *watched[i];
    if (one.usual.size() >= kBaselineMax || one.unsure.size() >= kBaselineMax) continue;
    one.unsure.push_back({.usual = seconds / (is_by_past ? block.pieces : usual),
                          .host_seconds = block.samples[i].host_seconds / block.pieces,
                          .share = block.x[i] / block.seconds,
                          .pieces = block.pieces,
                          .span = block.seconds / block.pieces});
    if (one.evidence.value() >= (is_by_past ? kEvidenceMin : kSuspicious)) continue;
    for (const PastBlock& before : std::exchange(one.unsure, {})) {
      one.usual.push_back(before.usual);
      one.usual_host.push_back(before.host_seconds);
      if (is_by_past) (one.baseline ? one.past : one.first).push_back(before);
    }
    if (one.usual.size() < kBaselineMin) continue;
    const double median = Median(one.usual);
    if (!one.baseline) fresh.push_back(&one);
    one.baseline = is_by_past ? median : std::clamp(median, kRatioMin, kRatioMax);
    one.usual_host_seconds = Median(one.usual_host);
  }
  if (!is_by_past) return;
  BeginPast(fresh);
  LimitBaselines(watched);
}

// What x was in the blocks that usual values are from.
void SlowRankWatch::BeginPast(const std::vector<Watched*>& fresh) {
  const auto is_zero = [](const Watched* one) { return *one->baseline <= 0; };
  const bool has_zero = std::ranges::any_of(fresh, is_zero);
  for (size_t k = 0; k < kBaselineMin; ++k) {
    std::vector<double> ratios;
    for (const Watched* one : fresh) {
      if (!has_zero && k < one->first.size()) ratios.push_back(one->first[k].usual / *one->baseline);
    }
    const double shared = ratios.size() < 2 ? 1 : LowerMedianInPlace(ratios);
    for (Watched* one : fresh) {
      if (k >= one->first.size()) continue;
      PastBlock& first = one->first[k];
      first.share = (first.usual - shared * *one->baseline) / first.span;
    }
  }
  for (Watched* one : fresh) {
    one->past.insert(one->past.end(), one->first.begin(), one->first.end());
    one->first.clear();
  }
}

// Of few that do the same, the fastest tells what the others could do; once there is a past to compare with.
void SlowRankWatch::LimitBaselines(const std::vector<Watched*>& watched) {
  if (std::ranges::any_of(watched, [](const Watched* one) { return one->past.size() < kPastMin; })) return;
  const Watched* fastest = nullptr;
  for (const Watched* one : watched) {
    if (one->baseline.value_or(0) <= 0) continue;
    if (fastest == nullptr || *one->baseline < *fastest->baseline) fastest = one;
  }
  if (fastest == nullptr) return;
  const double least = *fastest->baseline;
  const double least_host_seconds = fastest->usual_host_seconds;
  for (Watched* one : watched) {
    if (!one->baseline || *one->baseline <= kRatioMax * least || *one->baseline > kAlikeMax * least) continue;
    one->baseline = kRatioMax * least;
    one->usual_host_seconds = std::min(one->usual_host_seconds, least_host_seconds);
  }
}

double SlowRankWatch::Threshold(const Role& role) const {
  const auto elements = static_cast<double>(ranks_.size() + role.hosts.size());
  return static_cast<double>(std::max<uint64_t>(1, role.num_judged)) * elements / kFalseAlarms;
}

bool SlowRankWatch::IsSlow(const Element& element, const Role& role) const {
  if (element.evidence.value() < Threshold(role) || element.blocks < kSlowBlocksMin) return false;
  if (element.slow_blocks < kSlowBlocksMin || element.slow_seconds < kSlowSecondsMin) return false;
  if (element.hit_rate < kHitRateMin) return false;
  const auto count = static_cast<double>(element.blocks);
  const double mean = element.sum / count;
  const double variance = std::max(0.0, element.sum_2 / count - mean * mean);
  const double error = std::sqrt(variance / std::max(1.0, count - 1));
  const double seconds = element.seconds / count;
  return mean >= kCostMin * seconds && mean - kSurely * error >= margin_ * seconds;
}

SlowRank SlowRankWatch::Describe(const Element& element, const Role& role) const {
  SlowRank slow;
  slow.share = element.sum / element.seconds;
  slow.cost = element.cost / element.seconds;
  slow.host_share = element.sum > 0 ? element.host_seconds / element.sum : 0;
  slow.sureness = std::log10(element.evidence.value() / Threshold(role));
  const double usual = role.usual_seconds.empty() ? 0 : Median(role.usual_seconds);
  if (usual > 0 && role.num_judged > element.blocks + kBaselineMin) {
    slow.growth = element.seconds / element.pieces / usual - 1;
  }
  return slow;
}

std::optional<double> SlowRankWatch::Growth() const {
  std::vector<double> growths;
  for (const Role& role : roles_) {
    if (role.usual_seconds.size() < kBaselineMin || role.recent_seconds.size() < kRecent) continue;
    growths.push_back(Median(role.recent_seconds) / Median(role.usual_seconds) - 1);
  }
  return growths.empty() ? std::nullopt : std::optional(Median(growths));
}

double SlowRankWatch::BlockSeconds() const {
  std::vector<double> seconds;
  for (const Role& role : roles_) {
    if (role.usual_seconds.empty()) continue;
    seconds.push_back(Median(role.usual_seconds) * static_cast<double>(role.pieces_usual));
  }
  return Median(seconds);
}

bool SlowRankWatch::HasCause(const Role& role, HostId host, double share) const {
  return 1 == std::ranges::count_if(role.ranks, [&](uint32_t rank) {
           const bool is_of_host = layout_.ranks[rank].host == host;
           return is_of_host && IsSlow(ranks_[rank], role) &&
                  Describe(ranks_[rank], role).share >= kOutstanding * share;
         });
}

std::optional<SlowRank> SlowRankWatch::SlowestStage() const {
  std::vector<StageShare> stages;
  for (const Role& role : roles_) {
    const uint32_t rank = role.ranks.front();
    if (role.ranks.size() > 1 || ranks_[rank].shares.size() < kStageBlocks) return std::nullopt;
    stages.push_back({.stage = stages_[rank], .rank = rank, .share = Median(ranks_[rank].shares)});
  }
  const std::optional<SlowStage> found = FindSlowStage(std::move(stages));
  if (!found) return std::nullopt;
  SlowRank slow;
  slow.host = layout_.ranks[found->rank].host;
  slow.rank = model::RankId(found->rank);
  slow.ranks = {slow.rank};
  slow.share = found->beyond;
  return slow;
}

std::vector<SlowRank> SlowRankWatch::Slow() const {
  if (roles_.empty()) return {};
  std::vector<SlowRank> found;
  std::set<HostId> hosts;
  for (const Role& role : roles_) {
    for (const auto& [host, element] : role.hosts) {
      if (!IsSlow(element, role)) continue;
      SlowRank slow = Describe(element, role);
      if (HasCause(role, host, slow.share)) continue;
      slow.host = host;
      for (const uint32_t rank : role.ranks) {
        if (layout_.ranks[rank].host == host) slow.ranks.emplace_back(rank);
      }
      hosts.insert(host);
      found.push_back(std::move(slow));
    }
  }
  for (uint32_t rank = 0; rank < ranks_.size(); ++rank) {
    const Role& role = roles_[role_of_[rank]];
    const HostId host = layout_.ranks[rank].host;
    if (!IsSlow(ranks_[rank], role) || hosts.contains(host)) continue;
    SlowRank slow = Describe(ranks_[rank], role);
    slow.host = host;
    slow.rank = model::RankId(rank);
    slow.ranks = {slow.rank};
    found.push_back(std::move(slow));
  }
  std::ranges::stable_sort(found, std::ranges::greater{}, &SlowRank::share);
  const double greatest = found.empty() ? 0 : found.front().share;
  std::erase_if(found, [&](const SlowRank& slow) { return slow.share < kNamedShare * greatest; });
  std::map<HostId, double> greatest_of;
  for (const SlowRank& slow : found) greatest_of.emplace(slow.host, slow.share);
  std::erase_if(found, [&](const SlowRank& slow) { return slow.share < kAlikeShare * greatest_of[slow.host]; });
  if (found.size() > kNamedMax) found.resize(kNamedMax);
  return found;
}

}  // namespace fairlead::diagnosis::c4d
