// Numbers in the columns of a CSV file, with one clear message where a field is none.
#pragma once

#include <optional>
#include <string>
#include <string_view>

#include "base/csv_reader.h"
#include "base/status.h"

namespace fairlead::prediction {

class NumberColumn {
 public:
  // Errors: kInvalidArgument when the file has no such column.
  static Result<NumberColumn> Required(const CsvReader& reader, std::string_view name);
  // Reads `fallback` everywhere when the file has no such column, and where the field is empty.
  static Result<NumberColumn> Optional(const CsvReader& reader, std::string_view name, double fallback);

  // The field of the row read last. "nan" and "inf" are numbers: what a failed measurement means is the caller's.
  // Errors: kInvalidArgument with file:line and column when it is no number, or empty in a required column.
  Result<double> Read(const CsvReader& reader) const;

 private:
  std::string name_;
  std::optional<size_t> column_;
  std::optional<double> fallback_;
};

}  // namespace fairlead::prediction
