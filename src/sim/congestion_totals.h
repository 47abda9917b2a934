// What congestion control did to the flows of jobs and to the queues of links, added up over time.
#pragma once

#include <cstddef>
#include <vector>

namespace fairlead::sim {

// Of one job.
struct CongestionTotals {
  double cnps = 0;         // congestion notification packets that its senders received
  double lost_bytes = 0;   // that the links which held its flows back could have carried for it
  double held_bytes = 0;   // that its flows would have sent without this loss while they were held back
  double wait_byte_s = 0;  // the same bytes times what each waits in the queue of the link that holds it back

  // Adds `times` the totals of `other`.
  void Add(const CongestionTotals& other, double times = 1) {
    cnps += times * other.cnps;
    lost_bytes += times * other.lost_bytes;
    held_bytes += times * other.held_bytes;
    wait_byte_s += times * other.wait_byte_s;
  }
};

// Of the jobs and links of one network.
struct CongestionCounts {
  std::vector<CongestionTotals> jobs;
  std::vector<double> queue_byte_s;  // [link] bytes in its queues of all levels, times seconds

  // Args: other: of the same network.
  void Add(const CongestionCounts& other, double times = 1) {
    for (size_t j = 0; j < jobs.size(); ++j) jobs[j].Add(other.jobs[j], times);
    for (size_t l = 0; l < queue_byte_s.size(); ++l) queue_byte_s[l] += times * other.queue_byte_s[l];
  }
};

// Of a link of a fabric, over a whole run.
struct LinkQueue {
  double byte_s = 0;
  double most = 0;  // bytes, the most that ever was there; what swings around the mean is left out
};

}  // namespace fairlead::sim
