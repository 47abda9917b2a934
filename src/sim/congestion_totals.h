// What congestion control did to the flows of one job, added up over time.
#pragma once

namespace fairlead::sim {

struct CongestionTotals {
  double cnps = 0;        // congestion notification packets that its senders received
  double lost_bytes = 0;  // that the links which held its flows back could have carried for it
  double held_bytes = 0;  // that its flows would have sent without this loss while they were held back

  // Adds `times` the totals of `other`.
  void Add(const CongestionTotals& other, double times = 1) {
    cnps += times * other.cnps;
    lost_bytes += times * other.lost_bytes;
    held_bytes += times * other.held_bytes;
  }
};

}  // namespace fairlead::sim
