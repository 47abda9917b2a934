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
//
// What it consists of, each with a state of its own; none knows the whole:
//
//     measured_connections   what was measured, and what is normal for each connection
//     slow_path_suspects     what can be at fault in this job's network
//     judged_transfers       what the latest window showed
//
// connection_delays and pair_delays judge a window (steps 2 and 3, and 4), transfer_path says what passes what; these
// have no state.
//
// Cost        O(connections) per window, about 200 bytes a connection. See BM_SlowTransfers/ranks:16384.
// Guarantees  a slowdown of all transfers by one factor names none; repeated reports change nothing; order of reports
//             changes nothing.
// Differs     classes of the page are per rail and hop count, which no report contains; leaf switches represent both.
//             One matrix per level became one matrix and a search over all levels together: of elements that would
//             explain the same transfers, matrices of single levels name several.
// Reference   Dong et al., C4, HPCA 2025; docs/spec/c4.md section 5.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

#include "base/sim_time.h"
#include "diagnosis/c4d/judged_transfers.h"
#include "diagnosis/c4d/measured_connections.h"
#include "diagnosis/c4d/slow_options.h"
#include "diagnosis/c4d/slow_path_suspects.h"
#include "diagnosis/c4d/suspect.h"
#include "model/finding.h"
#include "model/finding_proof.h"
#include "model/place_names.h"
#include "model/telemetry.h"

namespace fairlead::diagnosis::c4d {

class SlowTransferDetector {
 public:
  // Args: layout, must outlive this; names: for texts.
  SlowTransferDetector(const model::JobLayout& layout, const SlowOptions& options, model::PlaceNames names = {});

  // Records about ranks that the layout does not know are left out. Cost: O(records of the report).
  void Add(const model::RankReport& report) { connections_.Add(report); }
  // The rank counts its reports from another number. Args: rank of the layout.
  void BeginAnew(model::RankId rank) { connections_.BeginAnew(rank); }

  // Judges what was added since the window before, and forgets it. Args: lateness [rank] seconds by which ranks came
  // late in this window, each making others wait; empty: none did. Returns: one suspect per element at fault, culprits
  // in their most specific form.
  std::vector<Suspect> EndWindow(SimTime now, std::span<const double> lateness = {});

  // Of the latest window: those that the culprits accuse, and of the others the slowest, `num_max` in all, ascending; and
  // how many are left out.
  std::vector<model::TransferDelay> DelaysOf(std::span<const model::Culprit> culprits, size_t num_max,
                                             uint32_t* num_left_out) const {
    return judged_.DelaysOf(culprits, num_max, num_left_out);
  }

  // Whether no transfer through it could be judged in the latest window.
  bool SaysNothingOf(const model::Culprit& culprit) const { return judged_.SaysNothingOf(culprit); }

 private:
  const model::JobLayout& layout_;
  const SlowOptions options_;
  MeasuredConnections connections_;
  SlowPathSuspects suspects_;
  JudgedTransfers judged_;
  SimTime window_begin_;
};

}  // namespace fairlead::diagnosis::c4d
