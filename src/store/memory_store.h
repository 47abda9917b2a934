// A store that forgets everything with its process: for trying things out, and the oracle of the others' tests.
#pragma once

#include <map>

#include "store/store.h"

namespace fairlead::store {

class MemoryStore : public Store {
 public:
  Status Apply(std::span<const Change> changes) override;
  Result<std::vector<Record>> List(std::string_view prefix) const override;

 private:
  std::map<std::string, std::string, std::less<>> records_;
};

}  // namespace fairlead::store
