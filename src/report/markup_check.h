// For tests: whether markup is balanced.
#pragma once

#include <string>
#include <string_view>

namespace fairlead::report {

// Empty when every tag is closed in order, every attribute is quoted, and every & begins an entity; else what is wrong
// and where. Knows the void elements that the page uses; does not look into <style> and <script>.
std::string FindMarkupError(std::string_view markup);

}  // namespace fairlead::report
