// Turns suspects, which come and go, into findings: confirmed once, cleared once.
//
// Method      a suspect is the same as before if syndrome and culprits are. A NIC and its sides are the same culprit:
//             what one side slows down delays acknowledgements of the other, in some windows enough to be seen. A
//             finding of a lasting state (a hang, a death) is confirmed when the suspicion has lasted without a break
//             for the time of its syndrome, and cleared when it has been absent for a while. One of slowness is judged
//             by windows: bad in K of the last M; of slow paths K in a row, and longer than twice what others of the
//             job were slow for and recovered by themselves.
// Guarantees  a finding is opened at most once per suspicion, and cleared at most once. Ids ascend in order of opening.
#pragma once

#include <cstdint>
#include <functional>
#include <map>
#include <optional>
#include <span>
#include <utility>
#include <vector>

#include "base/sim_time.h"
#include "diagnosis/c4d/suspect.h"
#include "model/finding.h"

namespace fairlead::diagnosis::c4d {

// What the master says. A finding is reported in full each time.
enum class FindingChange : uint8_t { kOpened, kUpdated };

struct C4dAction {
  FindingChange change = FindingChange::kOpened;
  model::Finding finding;

  friend bool operator==(const C4dAction&, const C4dAction&) = default;
};

class FindingTracker {
 public:
  // Args: num_gpus: of the job, for costs; 0: not known.
  explicit FindingTracker(JobId job, size_t num_gpus = 0) : job_(job), num_gpus_(num_gpus) {}

  // Notes what is held at `now`. Call it for all persistent suspects of an instant, then ForgetOthers. Returns whether
  // the suspicion is `hold` old by now and no finding is open for it: it may be confirmed.
  bool Hold(const Suspect& suspect, SimTime now, SimDuration hold);
  // Ends persistent suspicions that were not held at `now`; open findings stay open.
  void ForgetOthers(SimTime now);

  // Notes the suspects of a window of slowness. Args: says_nothing: whether the window had too little of it to tell,
  // which is neither good nor bad; `windows` in a row are good. Returns those that are bad in `bad` of the last
  // `windows` windows and have no open finding, with their latest evidence.
  std::vector<Suspect> HoldWindow(
      std::span<const Suspect> suspects, SimTime now, uint32_t bad, uint32_t windows,
      const std::function<bool(const Suspect&)>& says_nothing = [](const Suspect&) { return false; });
  // Returns those that need no more windows and have no open finding.
  std::vector<Suspect> HoldConfirmed(std::span<const Suspect> suspects, SimTime now);
  // Findings of slowness with good values in all of the last `windows` windows.
  std::vector<model::FindingId> FindRecovered(uint32_t windows) const;

  // Opens a finding. Args: symptoms: open findings that this one explains.
  void Open(const Suspect& suspect, SimTime now, std::vector<model::FindingId> symptoms);
  // What is known about an open suspicion by now, if it has become surer; nothing changes otherwise.
  void Raise(const Suspect& suspect);
  // Adds to the signs of an open finding.
  void NoteSigns(model::FindingId id, const std::vector<model::Sign>& signs);
  // Adds to its evidence what is not there: that something is reported again is no news.
  void NoteReports(model::FindingId id, const std::vector<model::Evidence>& reports);
  void AddSymptom(model::FindingId id, model::FindingId symptom);
  void Clear(model::FindingId id, SimTime now);
  void ClearAll(SimTime now);

  // [finding] all that were ever opened.
  const std::vector<model::Finding>& findings() const { return findings_; }
  bool IsOpen(model::FindingId id) const { return open_.contains(id); }
  // Ids of findings that are open, ascending.
  std::vector<model::FindingId> open() const;
  // When the finding's suspicion was last held.
  SimTime LastHeld(model::FindingId id) const { return open_.at(id).last_held; }
  std::vector<C4dAction> TakeActions() { return std::exchange(actions_, {}); }

 private:
  using Key = std::pair<model::Syndrome, std::vector<model::Culprit>>;
  struct Suspicion {
    SimTime first_held;
    SimTime last_held;
  };
  struct WindowHistory {
    Suspect latest;
    SimTime first_bad;
    uint64_t bad = 0;     // bit b: b windows ago
    uint32_t streak = 0;  // windows in a row
    uint32_t silent = 0;  // windows in a row that say nothing
  };
  struct OpenState {
    Key key;
    SimTime last_held;
  };

  // Of a suspicion that a window does not have: was it a slow path that is slow no more, without having been found?
  // Args: is_quiet: no path is slow in the window.
  // Whether it was slow for so many windows that one without a cost is one more.
  bool GoesOn(const Key& key) const;
  void NoteEnded(const Key& key, bool is_quiet, WindowHistory* history);
  static void NoteBad(const Suspect& suspect, SimTime now, WindowHistory* history);
  static Key KeyOf(const Suspect& suspect);
  // Evidence, confidence, cost and advice.
  void Fill(const Suspect& suspect, model::Finding& finding) const;
  void TellMore(model::FindingId id);
  void Tell(FindingChange change, model::FindingId id);
  std::optional<model::FindingId> FindOpen(const Key& key) const;

  JobId job_;
  size_t num_gpus_;
  uint32_t longest_ended_ = 0;  // windows in a row that a path was slow, and then was not any more
  std::map<Key, Suspicion> suspicions_;
  std::map<Key, WindowHistory> histories_;
  std::map<model::FindingId, OpenState> open_;
  std::vector<model::Finding> findings_;
  std::vector<C4dAction> actions_;
};

}  // namespace fairlead::diagnosis::c4d
