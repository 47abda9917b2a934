// Which of several placements of an arriving job a traffic policy would rather have.
#pragma once

#include <cstddef>
#include <cstdint>

namespace fairlead::traffic {

struct PlacementChoice {
  uint32_t candidate = 0;  // index of the one to take
  // How well bursts get on with each other on the links of the job: mean over its links, 1 = nobody waits.
  double score = 1;
  double first_score = 1;  // of the first candidate, that of the placement policy
  // Candidates that were left out. All: the first is taken.
  uint32_t num_looped = 0;   // the wishes of links would contradict each other
  uint32_t num_cut_off = 0;  // failures leave some of its flows without a path
};

// What came of the choices of a run.
struct PlacementCounters {
  uint64_t num_choices = 0;     // arrivals with at least two candidates
  uint64_t num_candidates = 0;  // theirs
  uint64_t num_looped = 0;      // of these
  uint64_t num_cut_off = 0;     // of these
  uint64_t num_fallbacks = 0;   // choices in which all were left out
  uint64_t num_changed = 0;     // choices that fell on another than the placement policy's
  double score = 0;             // sums over choices
  double first_score = 0;

  void Count(const PlacementChoice& choice, size_t candidates) {
    ++num_choices;
    num_candidates += candidates;
    num_looped += choice.num_looped;
    num_cut_off += choice.num_cut_off;
    num_fallbacks += choice.num_looped + choice.num_cut_off == candidates ? 1 : 0;
    num_changed += choice.candidate != 0 ? 1 : 0;
    score += choice.score;
    first_score += choice.first_score;
  }
  // Those of another run.
  void Add(const PlacementCounters& other) {
    num_choices += other.num_choices;
    num_candidates += other.num_candidates;
    num_looped += other.num_looped;
    num_cut_off += other.num_cut_off;
    num_fallbacks += other.num_fallbacks;
    num_changed += other.num_changed;
    score += other.score;
    first_score += other.first_score;
  }
};

}  // namespace fairlead::traffic
