// page_server.h -- one text page over HTTP, for programs on this host.
//
//   PageServer server({.path = "/metrics", .port = 9400});
//   server.show("up 1\n");
//   server.endpoint().text();            // "127.0.0.1:9400"
//
// It listens on 127.0.0.1 and nowhere else. Everybody on the host may connect, so requests, connections and their time
// are bounded: it answers GET of the one path, refuses everything else in a line, and closes. When there are too many
// connections the oldest one is closed. The thread never throws.
#pragma once

#include <cstddef>
#include <memory>
#include <string>
#include <thread>

#include "shoal/cluster/socket.h"
#include "shoal/core/quantities.h"

namespace shoal::cluster {

struct PageServerOptions {
  std::string path;
  std::string content_type = "text/plain; charset=utf-8";
  int port = 0;                                 // 0 takes any free one
  Duration deadline = std::chrono::seconds(2);  // of a connection
  size_t max_connections = 16;
  size_t max_request = 4096;  // bytes
};

class PageServer {
 public:
  // Listens and starts the thread. Throws UsageError when the port is taken.
  explicit PageServer(PageServerOptions options);
  PageServer(const PageServer&) = delete;
  PageServer& operator=(const PageServer&) = delete;
  ~PageServer();

  // Replaces the page; any thread.
  void show(std::string page);

  [[nodiscard]] const Endpoint& endpoint() const { return endpoint_; }

 private:
  class Loop;

  Endpoint endpoint_;
  std::unique_ptr<Loop> loop_;
  std::thread thread_;
};

}  // namespace shoal::cluster
