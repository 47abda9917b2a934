#include <memory>

#include "base/nearest_word.h"
#include "scheduling/defragmentation_policy.h"
#include "scheduling/monkey_tree/migration_program.h"
#include "scheduling/monkey_tree/monkey_tree.h"

namespace fairlead::scheduling {

std::vector<std::string_view> DefragmentationPolicyNames() {
  return {monkey_tree::MonkeyTree().name(), monkey_tree::ExactMonkeyTree().name()};
}

Result<std::unique_ptr<DefragmentationPolicy>> CreateDefragmentationPolicy(std::string_view name) {
  std::unique_ptr<DefragmentationPolicy> policy = std::make_unique<monkey_tree::MonkeyTree>();
  if (name == policy->name()) return policy;
  policy = std::make_unique<monkey_tree::ExactMonkeyTree>();
  if (name == policy->name()) return policy;
  return NotFound(UnknownName("defragmentation policy", name, DefragmentationPolicyNames()));
}

}  // namespace fairlead::scheduling
