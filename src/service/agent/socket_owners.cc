#include "service/agent/socket_owners.h"

#include <dirent.h>
#include <fmt/format.h>
#include <sys/stat.h>
#include <unistd.h>

#include <array>
#include <charconv>
#include <cstdlib>
#include <fstream>
#include <memory>
#include <set>
#include <string_view>

#include "shm/job_name.h"

namespace fairlead::service {

namespace {

struct CloseFolder {
  void operator()(DIR* folder) const { closedir(folder); }
};
using Folder = std::unique_ptr<DIR, CloseFolder>;

// "socket:[4711]" -> 4711; 0: something else.
uint64_t InodeOf(std::string_view link) {
  constexpr std::string_view kBegin = "socket:[";
  uint64_t inode = 0;
  if (link.starts_with(kBegin)) std::from_chars(link.data() + kBegin.size(), link.data() + link.size(), inode);
  return inode;
}

// Of its environment, as it was when it began.
struct Wishes {
  std::string job;
  std::string agent_socket = "/run/fairlead/agent.sock";
};

Wishes WishesOf(int32_t pid) {
  constexpr std::string_view kJob = "FAIRLEAD_JOB=", kSocket = "FAIRLEAD_AGENT_SOCKET=";
  Wishes wishes;
  std::ifstream environment(fmt::format("/proc/{}/environ", pid));
  for (std::string variable; std::getline(environment, variable, '\0');) {
    if (variable.starts_with(kJob)) wishes.job = variable.substr(kJob.size());
    if (variable.starts_with(kSocket)) wishes.agent_socket = variable.substr(kSocket.size());
  }
  return wishes;
}

bool IsSameFile(const std::string& one, const std::string& other) {
  struct stat first, second;
  return stat(one.c_str(), &first) == 0 && stat(other.c_str(), &second) == 0 && first.st_dev == second.st_dev &&
         first.st_ino == second.st_ino;
}

bool HasLibrary(int32_t pid) {
  std::ifstream maps(fmt::format("/proc/{}/maps", pid));
  for (std::string line; std::getline(maps, line);) {
    if (line.find("/libfairlead-steer.so") != line.npos) return true;
  }
  return false;
}

}  // namespace

std::map<uint64_t, int> SocketsOf(int32_t pid) {
  std::map<uint64_t, int> sockets;
  const Folder entries(opendir(fmt::format("/proc/{}/fd", pid).c_str()));
  if (entries == nullptr) return sockets;
  while (const dirent* entry = readdir(entries.get())) {
    std::array<char, 64> link;
    const ssize_t size = readlinkat(dirfd(entries.get()), entry->d_name, link.data(), link.size());
    const uint64_t inode = size > 0 ? InodeOf(std::string_view(link.data(), static_cast<size_t>(size))) : 0;
    if (inode != 0) sockets.emplace(inode, std::atoi(entry->d_name));
  }
  return sockets;
}

std::vector<agent::SocketOwner> FindSocketOwners(std::span<const uint64_t> inodes, const std::string& agent_socket,
                                                 JobIdentifier* jobs, SimTime at) {
  std::set<uint64_t> wanted(inodes.begin(), inodes.end());
  std::vector<agent::SocketOwner> owners;
  for (const int32_t pid : ReadProcNumbers("/proc")) {
    if (wanted.empty()) break;
    const Wishes wishes = WishesOf(pid);
    if (!shm::IsProcessJobName(wishes.job) || !HasLibrary(pid)) continue;
    if (!IsSameFile(fmt::format("/proc/{}/root/{}", pid, wishes.agent_socket), agent_socket)) continue;
    const auto user = ReadProcessUser("/proc", pid);
    if (!user.ok() || !user->has_value()) continue;
    const std::string job = jobs->KeyOf(wishes.job, **user, pid, at);
    for (const auto& [inode, number] : SocketsOf(pid)) {
      if (wanted.erase(inode) > 0) owners.push_back({.inode = inode, .pid = pid, .job = job});
    }
  }
  return owners;
}

}  // namespace fairlead::service
