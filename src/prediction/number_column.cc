#include "prediction/number_column.h"

#include <fmt/format.h>

#include "base/whole_number.h"

namespace fairlead::prediction {

Result<NumberColumn> NumberColumn::Required(const CsvReader& reader, std::string_view name) {
  NumberColumn column;
  column.name_ = name;
  FL_ASSIGN_OR_RETURN(column.column_, reader.Column(name));
  return column;
}

Result<NumberColumn> NumberColumn::Optional(const CsvReader& reader, std::string_view name, double fallback) {
  NumberColumn column;
  column.name_ = name;
  column.fallback_ = fallback;
  if (reader.HasColumn(name)) {
    FL_ASSIGN_OR_RETURN(column.column_, reader.Column(name));
  }
  return column;
}

Result<double> NumberColumn::Read(const CsvReader& reader) const {
  if (!column_) return *fallback_;
  const std::string_view text = reader.field(*column_);
  if (text.empty() && fallback_) return *fallback_;
  if (const std::optional<double> value = ParseWhole<double>(text)) return *value;
  return InvalidArgument(fmt::format("{}: {}: expected a number, found '{}'", reader.Where(), name_, text));
}

}  // namespace fairlead::prediction
