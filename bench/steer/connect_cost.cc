// A process that knows nothing of Fairlead and takes its own time: how long is connect(), and how fast are its bytes?
//
//     connect_cost serve ADDRESS FIRST_PORT NUM_PORTS        takes connections and drops what they send, until the
//                                                            end of its input
//     connect_cost connect SOURCE DESTINATION FIRST_PORT NUM_PORTS COUNT APART_MS
//         opens COUNT connections, the i-th one to FIRST_PORT + i % NUM_PORTS, and prints of each "<ns> <source port>";
//         then keeps them until the end of its input
//     connect_cost send SOURCE DESTINATION PORT MEGABYTES AFTER_MS
//         sends after a while; prints "<seconds> <seconds of processor time>", until all bytes are acknowledged
#include <arpa/inet.h>
#include <linux/sockios.h>
#include <netinet/in.h>
#include <poll.h>
#include <sys/ioctl.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <unistd.h>

#include <chrono>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <thread>
#include <vector>

namespace {

using Clock = std::chrono::steady_clock;

constexpr size_t kBufferBytes = 256 << 10;

sockaddr_in AddressOf(const char* address, int port) {
  sockaddr_in result = {};
  result.sin_family = AF_INET;
  result.sin_port = htons(static_cast<uint16_t>(port));
  inet_pton(AF_INET, address, &result.sin_addr);
  return result;
}

const sockaddr* Any(const sockaddr_in& address) { return reinterpret_cast<const sockaddr*>(&address); }

[[noreturn]] void Fail(const char* what) {
  perror(what);
  exit(1);
}

// As trainers do: the address is bound, the port left to connect(). A connection that is closed is reset, so that its
// port is free at once.
int MakeSocket(const char* source) {
  const int result = socket(AF_INET, SOCK_STREAM, 0);
  const int on = 1;
  const linger reset = {.l_onoff = 1, .l_linger = 0};
  setsockopt(result, IPPROTO_IP, IP_BIND_ADDRESS_NO_PORT, &on, sizeof(on));
  setsockopt(result, SOL_SOCKET, SO_LINGER, &reset, sizeof(reset));
  const sockaddr_in local = AddressOf(source, 0);
  if (result < 0 || bind(result, Any(local), sizeof(local)) != 0) Fail("bind");
  return result;
}

int Serve(const char* address, int first_port, int num_ports) {
  std::vector<pollfd> watched = {{STDIN_FILENO, POLLIN, 0}};
  for (int i = 0; i < num_ports; ++i) {
    const int listener = socket(AF_INET, SOCK_STREAM, 0);
    const int on = 1;
    setsockopt(listener, SOL_SOCKET, SO_REUSEADDR, &on, sizeof(on));
    const sockaddr_in local = AddressOf(address, first_port + i);
    if (bind(listener, Any(local), sizeof(local)) != 0 || listen(listener, 1024) != 0) Fail("listen");
    watched.push_back({listener, POLLIN, 0});
  }
  puts("ready");
  fflush(stdout);
  std::vector<char> buffer(kBufferBytes);
  const size_t num_listeners = watched.size();  // with the input, the first one
  while (watched.front().revents == 0) {
    poll(watched.data(), watched.size(), -1);
    std::vector<pollfd> next;
    for (size_t i = 0; i < watched.size(); ++i) {
      const bool is_listener = i < num_listeners;
      const bool is_over =
          !is_listener && watched[i].revents != 0 && read(watched[i].fd, buffer.data(), buffer.size()) <= 0;
      if (is_over) close(watched[i].fd);
      if (!is_over) next.push_back({watched[i].fd, POLLIN, i == 0 ? watched[i].revents : short{0}});
    }
    for (size_t i = 1; i < num_listeners; ++i) {
      if ((watched[i].revents & POLLIN) == 0) continue;
      const int connection = accept4(watched[i].fd, nullptr, nullptr, SOCK_NONBLOCK);
      if (connection >= 0) next.push_back({connection, POLLIN, 0});
    }
    watched = std::move(next);
  }
  return 0;
}

int Connect(const char* source, const char* destination, int first_port, int num_ports, int count, int apart_ms) {
  std::vector<int> connections;
  for (int i = 0; i < count; ++i) {
    connections.push_back(MakeSocket(source));
    const sockaddr_in peer = AddressOf(destination, first_port + i % num_ports);
    const Clock::time_point begun = Clock::now();
    if (connect(connections.back(), Any(peer), sizeof(peer)) != 0) Fail("connect");
    const std::chrono::nanoseconds took = Clock::now() - begun;
    sockaddr_in local = {};
    socklen_t length = sizeof(local);
    getsockname(connections.back(), reinterpret_cast<sockaddr*>(&local), &length);
    printf("%lld %d\n", static_cast<long long>(took.count()), ntohs(local.sin_port));
    std::this_thread::sleep_for(std::chrono::milliseconds(apart_ms));
  }
  fflush(stdout);
  while (getchar() != EOF) {
  }
  for (const int connection : connections) close(connection);
  return 0;
}

double ProcessorSeconds() {
  rusage usage = {};
  getrusage(RUSAGE_SELF, &usage);
  const auto seconds = [](const timeval& t) {
    return static_cast<double>(t.tv_sec) + 1e-6 * static_cast<double>(t.tv_usec);
  };
  return seconds(usage.ru_utime) + seconds(usage.ru_stime);
}

int Send(const char* source, const char* destination, int port, int megabytes, int after_ms) {
  const int connection = MakeSocket(source);
  const sockaddr_in peer = AddressOf(destination, port);
  if (connect(connection, Any(peer), sizeof(peer)) != 0) Fail("connect");
  std::this_thread::sleep_for(std::chrono::milliseconds(after_ms));
  const std::vector<char> buffer(kBufferBytes, 'x');
  const Clock::time_point begun = Clock::now();
  const double processor_before = ProcessorSeconds();
  for (size_t left = static_cast<size_t>(megabytes) << 20; left > 0;) {
    const ssize_t sent = write(connection, buffer.data(), left < buffer.size() ? left : buffer.size());
    if (sent <= 0) Fail("write");
    left -= static_cast<size_t>(sent);
  }
  for (int unacknowledged = 1; unacknowledged > 0;) {
    if (ioctl(connection, SIOCOUTQ, &unacknowledged) != 0) Fail("SIOCOUTQ");
    std::this_thread::sleep_for(std::chrono::microseconds(200));
  }
  const std::chrono::duration<double> took = Clock::now() - begun;
  printf("%.6f %.6f\n", took.count(), ProcessorSeconds() - processor_before);
  close(connection);
  return 0;
}

}  // namespace

int main(int argc, char** argv) {
  const auto number = [&](int i) { return atoi(argv[i]); };
  if (argc == 5 && strcmp(argv[1], "serve") == 0) return Serve(argv[2], number(3), number(4));
  if (argc == 8 && strcmp(argv[1], "connect") == 0) {
    return Connect(argv[2], argv[3], number(4), number(5), number(6), number(7));
  }
  if (argc == 7 && strcmp(argv[1], "send") == 0) return Send(argv[2], argv[3], number(4), number(5), number(6));
  fputs("usage: see bench/steer/connect_cost.py\n", stderr);
  return 2;
}
