// How far one simulator's times of the messages of a case are from another's.
#pragma once

#include <vector>

#include "experiments/packet-level/twin_case.h"

namespace fairlead::experiments::packet_level {

// All in %.
struct TwinErrors {
  std::vector<double> of_messages;  // |told - real| / real of the time from ready to arrived
  double total = 0;                 // told / real - 1 of the time until everything has arrived

  double mean() const;
  double p99() const;
};

TwinErrors Compare(const TwinTimes& real, const TwinTimes& told);

// When the last message has arrived, seconds.
double AllArrived(const TwinTimes& times);

// Over draws of the same case: all messages, and the mean of the totals.
TwinErrors Merge(const std::vector<TwinErrors>& draws);

}  // namespace fairlead::experiments::packet_level
