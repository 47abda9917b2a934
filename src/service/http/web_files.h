// The page's files (web/), which the program carries in itself.
#pragma once

#include <span>
#include <string_view>

namespace fairlead::service {

struct WebFile {
  std::string_view name;  // "index.html", "page.js"
  std::string_view text;
};

std::span<const WebFile> WebFiles();

}  // namespace fairlead::service
