// Which transfers of a job are slower than comparable ones, and what do they have in common?
//
// Problem     every connection reports how long its messages were on the wire. Connections differ by nature (message
//             size, distance), noise is in every number, one fault slows many connections, and a pattern like a ring
//             shows each fault on one connection only.
// Notation    x(connection) = log of its time per message over what is normal for it; 0: unchanged
//             sharing(connection) = how many connections share the port at its busier end: sends of its source, or
//             receives of its destination, in one communicator on one plane
// Method      per window:
//             1. time per message of each connection with enough messages (TransferFit), at its usual message size;
//             2. x against the connection's own baseline from the first windows without a suspect; without one, against
//                the median of its class: similar number and size of messages, same sharing, same pair of leaf switches
//                (if there are enough of them) or equally local;
//             3. a slowdown of all connections has no culprit: unless some are unchanged, x is relative to the present
//                normal;
//             4. x averaged per pair of ranks and plane. A pair is slow on its own (three sigma of the differences
//                between pairs, three standard errors of its reports, and the least effects), slow as part of a row or
//                column that ScoreDelays names, or lossy: single messages are repeatedly much slower than any before,
//                while those of most other pairs are not. A late rank sends and receives bursts, and messages of a
//                burst share their time otherwise than separate ones. So slower single messages are not a loss if the
//                lateness of one end covers them, nor if the others are faster by as much: a loss adds time, other
//                company only divides it otherwise;
//             5. NetworkElements finds the common elements of slow pairs; an element has to pass z_line, a single
//                connection z_point. The element that explains most comes first, then the slowest. Traffic that passes
//                a slow element, or is acknowledged through it, waits there: it is not slow or lossy as well (a slow
//                connection explains losses only). A single connection less than twice as slow as before also has to
//                exceed all unchanged ones of its class by the least effect: which messages meet is decided by chance
//                when a job starts, and changes when one rank is held up once; a formerly lucky connection is then no
//                slower than others. The median of the class is no bound, since connections of one class differ as
//                long as the job runs. So one without its own normal has to be slower than all others of its class;
//             6. while all wait for a slow element or a late rank, messages elsewhere meet others than usual: most of
//                the changed ones are faster, some slower. So further slow connections have to pass z by the amount by
//                which connections without a slow element are faster, and next to a slow element a loss is reported
//                only if those are unchanged. A window with a suspect does not count for what is normal.
// Cost        O(connections) per window, about 200 bytes a connection. See BM_SlowTransfers/ranks:16384.
// Guarantees  a slowdown of all transfers by one factor names none; repeated reports change nothing; order of reports
//             changes nothing.
// Differs     classes of the page are per rail and hop count, which no report contains; leaf switches represent both.
//             One matrix per level became one matrix and a search over all levels together: of elements that would
//             explain the same transfers, matrices of single levels name several.
// Reference   Dong et al., C4, HPCA 2025; docs/spec/c4.md section 5.
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <vector>

#include "base/sim_time.h"
#include "diagnosis/c4d/report_numbers.h"
#include "diagnosis/c4d/slow_elements.h"
#include "diagnosis/c4d/slow_options.h"
#include "diagnosis/c4d/suspect.h"
#include "diagnosis/c4d/transfer_fit.h"
#include "model/finding_proof.h"
#include "model/place_names.h"
#include "model/telemetry.h"

namespace fairlead::diagnosis::c4d {

class SlowTransferDetector {
 public:
  // Args: layout, must outlive this; names: for texts.
  SlowTransferDetector(const model::JobLayout& layout, const SlowOptions& options, model::PlaceNames names = {});

  // Records about ranks that the layout does not know are left out. Cost: O(records of the report).
  void Add(const model::RankReport& report);
  // The rank counts its reports from another number. Args: rank of the layout.
  void BeginAnew(model::RankId rank) { seen_[rank.index()] = ReportNumbers(); }

  // Judges what was added since the window before, and forgets it. Args: lateness [rank] seconds by which ranks came
  // late in this window, each making others wait; empty: none did. Returns: one suspect per element at fault, culprits
  // in their most specific form.
  std::vector<Suspect> EndWindow(SimTime now, std::span<const double> lateness = {});

  // Of the latest window: those that the culprits accuse, and of the others the slowest, `num_max` in all, ascending; and
  // how many are left out.
  std::vector<model::TransferDelay> DelaysOf(std::span<const model::Culprit> culprits, size_t num_max,
                                             uint32_t* num_left_out) const;

  // Whether no transfer through it could be judged in the latest window.
  bool SaysNothingOf(const model::Culprit& culprit) const;

 private:
  struct Connection {
    model::ConnectionKey key;
    TransferFit fit;
    // What is normal for it: mean of log seconds at `usual_bytes` over `baseline_count` windows.
    double baseline = 0;
    double baseline_error_2 = 0;  // square of its standard error
    SlowestRatios baseline_ratios;
    double usual_bytes = 0;
    uint32_t baseline_count = 0;
    uint32_t odd_windows = 0;  // slower than its class, and no finding
  };
  // One connection in one window.
  struct Sample {
    model::RankId source;
    Connection* connection = nullptr;
    double log_seconds = 0;  // of a message of the usual size
    double log_delay = 0;    // likewise, seconds a byte
    double error_2 = 0;      // square of its standard error
    double messages = 0;
    double uneven_share = 0;     // of reports, if several are
    double slowest_seconds = 0;  // of one message
    double uneven_seconds = 0;   // by which slowest messages of these took longer than usual
    SlowestRatios ratios;
    uint32_t sharing = 1;  // the header's, as x
    double x = 0;
    uint64_t like = 0;             // its class, if there are enough of it
    std::optional<double> like_x;  // log of its time per message over the median of its class; nothing without one
    // Likewise, over the slowest of the unchanged ones, or of all others if it has no normal of its own; infinite where
    // there are none.
    double beyond_like = 0;
    bool has_x = false;
  };
  struct PairDelay {
    Transfer transfer;
    double x = 0;
    double added_seconds = 0;  // to each message
    double added_busy = 0;     // seconds of the window, of the connection with the most
    double error_2 = 0;        // square of the standard error of x
    double uneven = 0;         // share of uneven reports beyond normal, of the worst connection
    double beyond_like = 0;    // likewise
    uint32_t samples = 0;
  };

  // Medians over what an element makes slow.
  struct ElementDelay {
    double x = 0;
    double added_seconds = 0;
    double added_busy = 0;
    double uneven = 0;
    double z = 0;
    double z_min = 0;
    double beyond_like = 0;
    double beyond_like_min = 0;

    bool is_slow() const { return z >= z_min && beyond_like >= beyond_like_min; }
  };

  struct JudgedElement {
    SlowElement element;
    ElementDelay delay;
  };

  // Whether it costs anything.
  bool Matters(const PairDelay& pair) const {
    return pair.added_seconds >= options_.added_delay_min.seconds().value() ||
           (window_seconds_ > 0 && pair.added_busy >= options_.busy_share_min * window_seconds_);
  }
  bool HasBaseline(const Connection& connection) const {
    return connection.baseline_count >= options_.baseline_windows;
  }
  Connection& FindConnection(model::RankId rank, const model::ConnectionKey& key);
  std::vector<Sample> TakeSamples(std::span<const double> lateness);
  bool IsLocal(model::RankId a, model::RankId b, uint32_t plane) const;
  uint64_t ClassOf(const Sample& sample, bool by_leaf_pair) const;
  void CompareWithNormal(std::span<Sample> samples) const;
  static void CountSharing(std::span<Sample> samples);
  // Classes with enough members, and their medians, for samples that have none yet.
  void CompareWithin(std::span<Sample> samples, bool by_leaf_pair) const;
  // Subtracts the shared part from x; returns the standard deviation of the rest.
  double RemoveShared(std::span<Sample> samples) const;
  static uint64_t LineOf(const Sample& sample);  // which pair of ranks
  // Whether what single messages took longer shows in what all took.
  bool TakesLonger(const Sample& sample) const;
  // Compares those that are slower than ever with those of their class that are not.
  void CompareWithLike(std::span<Sample> samples) const;
  std::vector<PairDelay> PoolPairs(std::span<const Sample> samples) const;
  // What most connections show.
  static double UsualUnevenShare(std::span<const Sample> samples);
  void JudgePairs(std::span<PairDelay> pairs, double sigma) const;
  void JudgeLines(std::span<PairDelay> pairs) const;
  // What explains slow pairs: that which explains most first, and of what explains as much the slowest.
  std::vector<JudgedElement> JudgeElements(std::span<const PairDelay> pairs, double sigma) const;
  // Args: has_late_rank: all waited for a rank.
  std::vector<Suspect> NameElements(std::span<const PairDelay> pairs, double sigma, bool has_late_rank) const;
  ElementDelay DelayOf(const SlowElement& element, std::span<const PairDelay> pairs, double sigma) const;
  // Whether it is on the way from one end to the other, or back.
  bool IsPassedBy(const Transfer& transfer, const model::Culprit& culprit) const;
  // Whether it is said to be slow: on its way there, not on that of acknowledgements.
  bool IsAccusedBy(const Transfer& transfer, const model::Culprit& culprit) const;
  bool IsPassedByOneOf(const Transfer& transfer, std::span<const model::Culprit> culprits) const;
  // By how much transfers that pass none of these are faster than normal: a standard deviation.
  double SpreadBeside(std::span<const PairDelay> pairs, std::span<const model::Culprit> slow) const;
  Suspect MakeSuspect(const SlowElement& element, const ElementDelay& delay) const;
  void LearnBaseline(std::span<const Sample> samples, std::span<const PairDelay> pairs);

  const model::JobLayout& layout_;
  model::PlaceNames names_;
  SlowOptions options_;
  NetworkElements elements_;
  SimTime window_begin_;
  double window_seconds_ = 0;                         // 0: not known
  std::vector<ReportNumbers> seen_;                   // [rank]
  std::vector<std::vector<Connection>> connections_;  // [rank] that sends, ascending key
  std::vector<Transfer> judged_;                      // in the latest window
  std::vector<double> judged_ratios_;                 // [of judged_] time for a message over what is normal
};

}  // namespace fairlead::diagnosis::c4d
