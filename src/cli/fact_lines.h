// "key:   value" lines.
#pragma once

#include <fmt/format.h>

#include <string>
#include <string_view>
#include <utility>

#include "report/document.h"
#include "report/printable_text.h"
#include "report/text_table.h"

namespace fairlead::cli {

class FactLines {
 public:
  // Long values go on in the same column.
  void Add(std::string_view name, const std::string& value) {
    std::string start = fmt::format("{:<{}}", fmt::format("{}:", name), kValueColumn);
    for (const char c : report::WrapText(report::CleanText(value), report::kTextWidth - kValueColumn, 0)) {
      text_ += std::exchange(start, c == '\n' ? std::string(kValueColumn, ' ') : std::string()) + c;
    }
  }
  report::Document Take() { return std::move(text_); }

 private:
  static constexpr size_t kValueColumn = 17;

  std::string text_;
};

}  // namespace fairlead::cli
