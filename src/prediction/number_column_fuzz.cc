// Any bytes as a CSV with numbers: a number from a required and from an optional column, or an error that names the
// file; both columns agree where the field is not empty.
#include <cmath>
#include <cstdint>
#include <memory>
#include <sstream>
#include <string>

#include "base/check.h"
#include "base/csv_reader.h"
#include "prediction/number_column.h"

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  using fairlead::prediction::NumberColumn;
  const std::string text(reinterpret_cast<const char*>(data), size);
  auto reader = fairlead::CsvReader::FromStream(std::make_unique<std::istringstream>("x,y\n" + text), "fuzz.csv");
  FL_CHECK(reader.ok());
  const auto required = NumberColumn::Required(*reader, "x");
  const auto optional = NumberColumn::Optional(*reader, "x", -1);
  const auto missing = NumberColumn::Optional(*reader, "z", 7);
  FL_CHECK(required.ok() && optional.ok() && missing.ok());
  FL_CHECK(!NumberColumn::Required(*reader, "z").ok());
  const size_t x = *reader->Column("x");
  while (reader->Next()) {
    FL_CHECK(*missing->Read(*reader) == 7);
    const auto strict = required->Read(*reader);
    const auto lenient = optional->Read(*reader);
    if (reader->field(x).empty()) {
      FL_CHECK(!strict.ok() && *lenient == -1);
      continue;
    }
    FL_CHECK(strict.ok() == lenient.ok());
    if (!strict.ok()) {
      FL_CHECK(strict.status().message().starts_with("fuzz.csv:"));
    } else {
      FL_CHECK(*strict == *lenient || (std::isnan(*strict) && std::isnan(*lenient)));
    }
  }
  return 0;
}
