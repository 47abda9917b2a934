// Of the address book: its form as JSON.
#include <fmt/format.h>

#include <algorithm>
#include <nlohmann/json.hpp>
#include <utility>

#include "topology/address_book.h"

namespace fairlead::topology {
namespace {

using Json = nlohmann::json;

constexpr std::string_view kNics = "nics";
constexpr std::string_view kInterfaces = "interfaces";
constexpr AddressMapKey kAddressMapKeys[] = {
    {.name = kNics,
     .meaning = "A NIC of a host; it may have several addresses. NICs without one get no paths.",
     .named = "HOST/NIC",
     .address = "10.0.0.1",
     .name_of_it = "node01/nic0"},
    {.name = kInterfaces,
     .meaning = "An interface of a switch, from which it answers probes. Routes through interfaces that are missing "
                "stay unknown.",
     .named = "the link that ends there: FROM->TO, FROM->TO#N for cable number N of several",
     .address = "10.128.0.1",
     .name_of_it = "node01/nic0->leaf0"},
};

// Takes the file's tokens one by one; so a duplicate key is seen, and nothing is built from wrong input.
class AddressBookReader final : public nlohmann::json_sax<Json> {
 public:
  AddressBookReader(std::string_view text, const std::string& where, const Fabric& fabric)
      : text_(text), where_(where), fabric_(fabric) {}

  Result<AddressBook> Read() {
    // The library calls parse_error() instead of throwing.
    const bool is_read = Json::sax_parse(text_.begin(), text_.end(), this);
    if (!is_read && status_.ok()) status_ = InvalidArgument(fmt::format("{}: not JSON", where_));
    if (!status_.ok()) return status_;
    return std::move(book_);
  }

  bool start_object(std::size_t) override {
    if (depth_ == 2) return Fail(fmt::format("{}: {}: expected a name, found an object", where_, DescribeKey()));
    ++depth_;
    return true;
  }
  bool end_object() override {
    --depth_;
    return true;
  }
  bool key(string_t& key) override {
    if (depth_ == 1) {
      section_ = key;
      if (std::ranges::count(kAddressMapKeys, key, &AddressMapKey::name) == 0) {
        return Fail(fmt::format("{}: '{}': no such key; known: {}, {}", where_, key, kNics, kInterfaces));
      }
      return true;
    }
    address_text_ = key;
    auto address = ParseIpAddress(key);
    if (!address.ok()) return Fail(fmt::format("{}: {}: {}", where_, section_, address.status().message()));
    address_ = *address;
    if (book_.FindNic(address_) || book_.FindLink(address_)) {
      return Fail(fmt::format("{}: {}: it appears twice; keep one", where_, DescribeKey()));
    }
    return true;
  }
  bool string(string_t& name) override {
    if (depth_ != 2) return Unexpected("a text");
    return section_ == kNics ? AddNic(name) : AddInterface(name);
  }

  bool null() override { return Unexpected("null"); }
  bool boolean(bool) override { return Unexpected("true or false"); }
  bool number_integer(number_integer_t) override { return Unexpected("a number"); }
  bool number_unsigned(number_unsigned_t) override { return Unexpected("a number"); }
  bool number_float(number_float_t, const string_t&) override { return Unexpected("a number"); }
  bool binary(binary_t&) override { return Unexpected("bytes"); }
  bool start_array(std::size_t) override { return Unexpected("a list"); }
  bool end_array() override { return true; }
  bool parse_error(std::size_t position, const std::string&, const nlohmann::detail::exception&) override {
    const auto end = text_.begin() + static_cast<std::ptrdiff_t>(std::min(position, text_.size()));
    return Fail(fmt::format("{}:{}: not JSON (or not UTF-8); restore the file or write it again", where_,
                            1 + std::count(text_.begin(), end, '\n')));
  }

 private:
  std::string DescribeKey() const { return fmt::format("{}: '{}'", section_, address_text_); }
  bool Fail(std::string message) {
    if (status_.ok()) status_ = InvalidArgument(std::move(message));
    return false;
  }
  bool Unexpected(std::string_view found) {
    if (depth_ == 0)
      return Fail(fmt::format("{}: expected an object with nics and interfaces, found {}", where_, found));
    if (depth_ == 1) {
      return Fail(fmt::format("{}: {}: expected an object of addresses, found {}", where_, section_, found));
    }
    return Fail(fmt::format("{}: {}: expected a name, found {}", where_, DescribeKey(), found));
  }
  bool Add(const Status& added) {
    return added.ok() || Fail(fmt::format("{}: {}: {}", where_, DescribeKey(), added.message()));
  }
  bool AddNic(const std::string& name) {
    const NodeId node = fabric_.FindNode(name);
    if (!node.valid() || fabric_.kind(node) != NodeKind::kNic) {
      return Fail(fmt::format("{}: {}: the fabric has no NIC '{}'", where_, DescribeKey(), name));
    }
    const HostId host = fabric_.host_of(node);
    NicId nic = fabric_.first_nic(host);
    while (fabric_.node_of(nic) != node) nic = NicId(nic.value() + 1);
    return Add(book_.AddNic(address_, nic));
  }
  bool AddInterface(const std::string& name) {
    const LinkId link = fabric_.FindLink(name);
    if (!link.valid() || !IsNetwork(fabric_.tier(link))) {
      return Fail(fmt::format("{}: {}: the fabric has no network link '{}'", where_, DescribeKey(), name));
    }
    return Add(book_.AddRouterInterface(address_, link));
  }

  const std::string_view text_;
  const std::string& where_;
  const Fabric& fabric_;
  uint32_t depth_ = 0;
  std::string section_;
  std::string address_text_;
  IpAddress address_;
  AddressBook book_;
  Status status_;
};

}  // namespace

std::span<const AddressMapKey> AddressMapKeys() { return kAddressMapKeys; }

Result<AddressBook> ReadAddressBook(std::string_view text, const std::string& where, const Fabric& fabric) {
  return AddressBookReader(text, where, fabric).Read();
}

std::string WriteAddressBook(const AddressBook& book, const Fabric& fabric) {
  Json json = {{"nics", Json::object()}, {"interfaces", Json::object()}};
  for (const auto& [address, nic] : book.nics()) {
    json["nics"][address.ToString()] = fabric.NodeName(fabric.node_of(nic));
  }
  for (const auto& [address, link] : book.router_interfaces()) {
    json["interfaces"][address.ToString()] = fabric.LinkName(link);
  }
  // Names of importers may be any bytes.
  return json.dump(2, ' ', false, Json::error_handler_t::replace) + "\n";
}

}  // namespace fairlead::topology
