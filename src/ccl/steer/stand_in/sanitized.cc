// A program with a sanitizer, which looks functions up while it begins, and then asks for a connection.
#include <arpa/inet.h>
#include <netinet/in.h>
#include <sys/socket.h>
#include <unistd.h>

#include <cstdio>
#include <string>
#include <thread>

int main() {
  const int connection = socket(AF_INET, SOCK_STREAM, 0);
  sockaddr_in address = {};
  address.sin_family = AF_INET;
  address.sin_port = htons(1);
  address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
  const bool is_connected = connect(connection, reinterpret_cast<const sockaddr*>(&address), sizeof(address)) == 0;
  close(connection);
  std::string said;
  std::thread([&] { said = is_connected ? "connected" : "refused"; }).join();
  puts(said.c_str());
}
