#include "telemetry/input_text.h"

#include <fmt/format.h>
#include <zlib.h>
#include <zstd.h>

#include <array>
#include <filesystem>
#include <fstream>
#include <sstream>
#include <system_error>
#include <utility>
#include <vector>

namespace fairlead::telemetry {

namespace {

constexpr int kFirstByteOfGzip = 0x1f;
constexpr int kFirstByteOfZstandard = 0x28;  // "(", which begins no recording

Status TooLarge(const std::string& path, size_t bytes_max) {
  return Status(StatusCode::kResourceExhausted, fmt::format("{}: unpacks to more than {} bytes", path, bytes_max));
}

Status Damaged(const std::string& path, const char* packer, size_t at, std::string_view why) {
  return InvalidArgument(
      fmt::format("{}: is packed by {} and damaged behind byte {} of what it unpacks to: {}", path, packer, at, why));
}

Result<std::string> UnpackZstandard(std::istream& file, const std::string& path, size_t bytes_max) {
  const std::unique_ptr<ZSTD_DStream, decltype(&ZSTD_freeDStream)> unpacker(ZSTD_createDStream(), &ZSTD_freeDStream);
  std::string text;
  std::vector<char> packed(ZSTD_DStreamInSize());
  std::vector<char> block(ZSTD_DStreamOutSize());
  size_t wanted = 0;  // 0: at the end of a frame; another one may follow
  while (file.read(packed.data(), static_cast<std::streamsize>(packed.size())), file.gcount() > 0) {
    ZSTD_inBuffer input = {.src = packed.data(), .size = static_cast<size_t>(file.gcount()), .pos = 0};
    // What is unpacked may take more room than the block has. Behind the end of a frame an empty call would begin another.
    for (bool has_more = true; has_more;) {
      ZSTD_outBuffer output = {.dst = block.data(), .size = block.size(), .pos = 0};
      wanted = ZSTD_decompressStream(unpacker.get(), &output, &input);
      if (ZSTD_isError(wanted) != 0) return Damaged(path, "Zstandard", text.size(), ZSTD_getErrorName(wanted));
      text.append(block.data(), output.pos);
      if (text.size() > bytes_max) return TooLarge(path, bytes_max);
      has_more = input.pos < input.size || (output.pos == output.size && wanted != 0);
    }
  }
  if (file.bad()) return Unavailable(fmt::format("{}: reading failed", path));
  if (wanted != 0) return Damaged(path, "Zstandard", text.size(), "it is cut off");
  return text;
}

Result<std::string> UnpackGzip(const std::string& path, size_t bytes_max) {
  const std::unique_ptr<gzFile_s, decltype(&gzclose)> file(gzopen(path.c_str(), "rb"), &gzclose);
  if (file == nullptr) return NotFound(fmt::format("{}: cannot be opened; is the name right?", path));
  std::string text;
  std::array<char, 1u << 16> block;
  int count = 0;
  while ((count = gzread(file.get(), block.data(), block.size())) > 0) {
    text.append(block.data(), static_cast<size_t>(count));
    if (text.size() > bytes_max) return TooLarge(path, bytes_max);
  }
  int error = Z_OK;
  const std::string message = gzerror(file.get(), &error);
  if (count < 0 || error != Z_OK) {
    return Damaged(path, "gzip", text.size(), message.empty() ? "it is cut off" : message);
  }
  return text;
}

}  // namespace

Result<std::unique_ptr<std::istream>> OpenInput(const std::string& path, size_t unpacked_bytes_max) {
  std::error_code error;
  if (std::filesystem::is_directory(path, error)) {
    return InvalidArgument(fmt::format("{}: is a folder; name the files in it, such as {}/*", path, path));
  }
  auto stream = std::make_unique<std::ifstream>(path, std::ios::binary);
  if (!stream->is_open()) return NotFound(fmt::format("{}: cannot be opened; is the name right?", path));
  const int first = stream->peek();
  if (first == kFirstByteOfGzip || first == kFirstByteOfZstandard) {
    FL_ASSIGN_OR_RETURN(std::string text, first == kFirstByteOfGzip
                                              ? UnpackGzip(path, unpacked_bytes_max)
                                              : UnpackZstandard(*stream, path, unpacked_bytes_max));
    return std::unique_ptr<std::istream>(std::make_unique<std::istringstream>(std::move(text)));
  }
  stream->clear();  // an empty file is no failure yet
  return std::unique_ptr<std::istream>(std::move(stream));
}

Result<std::string> ReadWhole(std::istream& stream, const std::string& name, size_t bytes_max) {
  std::string text;
  std::array<char, 1u << 16> block;
  while (stream.read(block.data(), block.size()), stream.gcount() > 0) {
    text.append(block.data(), static_cast<size_t>(stream.gcount()));
    if (text.size() > bytes_max) {
      return Status(StatusCode::kResourceExhausted, fmt::format("{}: is larger than {} bytes", name, bytes_max));
    }
  }
  if (stream.bad()) return Unavailable(fmt::format("{}: reading failed", name));
  return text;
}

bool LineReader::Next() {
  text_.clear();
  is_complete_ = false;
  if (!status_.ok()) return false;
  std::streambuf& buffer = *stream_->rdbuf();
  int c = buffer.sbumpc();
  if (c == std::char_traits<char>::eof()) {
    if (stream_->bad()) status_ = Unavailable(fmt::format("{}: reading failed", name_));
    return false;
  }
  ++number_;
  for (; c != std::char_traits<char>::eof() && c != '\n'; c = buffer.sbumpc()) {
    if (text_.size() == line_bytes_max_) {
      status_ = InvalidArgument(fmt::format(
          "{}: the line is longer than {} bytes; is this a recording, one record a line?", Where(), line_bytes_max_));
      return false;
    }
    text_ += static_cast<char>(c);
  }
  is_complete_ = c == '\n';
  if (text_.ends_with('\r')) text_.pop_back();
  if (number_ == 1 && text_.starts_with("\xef\xbb\xbf")) text_.erase(0, 3);
  return true;
}

std::string LineReader::Where() const { return fmt::format("{}:{}", name_, number_); }

}  // namespace fairlead::telemetry
