#include "traffic/meeting_memory.h"

#include <bit>
#include <utility>

#include "base/lazy_id_vector.h"

namespace fairlead::traffic {

void MeetingMemory::Clear() { *this = MeetingMemory(); }

std::vector<std::vector<uint32_t>> MeetingMemory::Find(std::span<const Job> jobs, const LinkTable& links) {
  const bool has_room = Assign(jobs);
  if (has_room && changed_.size() <= kMostMarked) {
    FindChanged(jobs, links);
    num_looked_up_ = changed_.size();
    return List();
  }
  FindAll(jobs, links);
  num_looked_up_ = jobs.size();
  return List();
}

// Gives each job a slot. Returns false where there are too few of them.
bool MeetingMemory::Assign(std::span<const Job> jobs) {
  slots_of_call_.clear();
  changed_.clear();
  for (Slot& slot : slots_) slot.is_used = false;
  for (uint32_t j = 0; j < jobs.size(); ++j) {
    const auto known = slot_of_.find(jobs[j].id);
    slots_of_call_.push_back(known == slot_of_.end() ? ~uint32_t{0} : known->second);
    if (known != slot_of_.end()) {
      Slot& slot = slots_[known->second];
      slot.is_used = true;
      if (slot.traffic == jobs[j].traffic) continue;
      slot.traffic = jobs[j].traffic;
    }
    changed_.push_back(j);
  }
  FreeUnused();
  for (const uint32_t j : changed_) {
    uint32_t& mine = slots_of_call_[j];
    if (mine == ~uint32_t{0}) {
      if (free_.empty()) return false;
      mine = free_.back();
      free_.pop_back();
      slots_[mine] = {jobs[j].traffic, true};
      slot_of_.emplace(jobs[j].id, mine);
    }
    Forget(mine);
  }
  return true;
}

void MeetingMemory::FreeUnused() {
  for (auto job = slot_of_.begin(); job != slot_of_.end();) {
    if (slots_[job->second].is_used) {
      ++job;
      continue;
    }
    Forget(job->second);
    slots_[job->second].traffic = nullptr;
    free_.push_back(job->second);
    job = slot_of_.erase(job);
  }
}

// Takes the slot's bits out of all rows.
void MeetingMemory::Forget(uint32_t slot) {
  uint64_t* const row = RowOf(slot);
  for (size_t word = 0; word < num_words_; ++word) {
    for (uint64_t bits = std::exchange(row[word], 0); bits != 0; bits &= bits - 1) {
      const auto other = static_cast<uint32_t>(word * 64 + static_cast<size_t>(std::countr_zero(bits)));
      RowOf(other)[slot / 64] &= ~(uint64_t{1} << (slot % 64));
    }
  }
}

// With room for as many jobs as change at a time.
void MeetingMemory::FindAll(std::span<const Job> jobs, const LinkTable& links) {
  num_words_ = (jobs.size() + kMostMarked + 63) / 64;
  slots_.assign(num_words_ * 64, {});
  meets_.assign(slots_.size() * num_words_, 0);
  slot_of_.clear();
  free_.clear();
  slots_of_call_.clear();
  std::vector<std::span<const LinkBytes>> uses;
  for (uint32_t j = 0; j < jobs.size(); ++j) {
    uses.emplace_back(jobs[j].traffic->links);
    slots_[j] = {jobs[j].traffic, true};
    slot_of_.emplace(jobs[j].id, j);
    slots_of_call_.push_back(j);
  }
  for (size_t slot = slots_.size(); slot-- > jobs.size();) free_.push_back(static_cast<uint32_t>(slot));
  const std::vector<std::vector<uint32_t>> contention = FindContention(uses, links);
  for (uint32_t j = 0; j < jobs.size(); ++j) {
    for (const uint32_t other : contention[j]) RowOf(j)[other / 64] |= uint64_t{1} << (other % 64);
  }
}

void MeetingMemory::FindChanged(std::span<const Job> jobs, const LinkTable& links) {
  if (changed_.empty()) return;
  LazyIdVector<LinkId, uint64_t> marks(links.size());
  for (size_t bit = 0; bit < changed_.size(); ++bit) {
    for (const LinkBytes& use : jobs[changed_[bit]].traffic->links) {
      if (links.can_be_shared(use.link)) marks[use.link] |= uint64_t{1} << bit;
    }
  }
  for (uint32_t j = 0; j < jobs.size(); ++j) {
    uint64_t met = 0;
    for (const LinkBytes& use : jobs[j].traffic->links) met |= marks[use.link];
    const uint32_t mine = slots_of_call_[j];
    for (; met != 0; met &= met - 1) {
      const uint32_t other = slots_of_call_[changed_[static_cast<size_t>(std::countr_zero(met))]];
      if (other == mine) continue;
      RowOf(mine)[other / 64] |= uint64_t{1} << (other % 64);
      RowOf(other)[mine / 64] |= uint64_t{1} << (mine % 64);
    }
  }
}

std::vector<std::vector<uint32_t>> MeetingMemory::List() {
  std::vector<std::vector<uint32_t>> result(slots_of_call_.size());
  std::vector<uint32_t> met(slots_of_call_.size() + 1);
  for (size_t j = 0; j < slots_of_call_.size(); ++j) {
    const uint64_t* const row = RowOf(slots_of_call_[j]);
    // Without a branch: in bad cases any pair may meet or not.
    size_t num_met = 0;
    for (uint32_t other = 0; other < slots_of_call_.size(); ++other) {
      met[num_met] = other;
      num_met += row[slots_of_call_[other] / 64] >> (slots_of_call_[other] % 64) & 1;
    }
    result[j].assign(met.begin(), met.begin() + static_cast<ptrdiff_t>(num_met));
  }
  return result;
}

}  // namespace fairlead::traffic
