// What steering's knowledge of a host means for who may be put on it: joins diagnosis and allocation.
//
//     findings --> Steering --> HostCondition --> HostState --> JobAllocator: jobs are placed elsewhere
//
// A host that is about to be isolated, or of which is not known whether it was, keeps the jobs that it has and gets no
// others. One that has come back has room again.
#pragma once

#include "controller/job_allocator.h"
#include "controller/steered_hosts.h"

namespace fairlead::controller {

// Args: otherwise: the state of a host that steering holds nothing against.
inline HostState AllocationStateOf(HostCondition condition, HostState otherwise) {
  switch (condition) {
    case HostCondition::kIsolated:
      return HostState::kIsolated;
    case HostCondition::kIsolating:
    case HostCondition::kInDoubt:
      return otherwise == HostState::kDown ? HostState::kDown : HostState::kDraining;
    case HostCondition::kUnknown:
    case HostCondition::kInJob:
    case HostCondition::kSpare:
    case HostCondition::kReserved:
      break;
  }
  return otherwise;
}

}  // namespace fairlead::controller
