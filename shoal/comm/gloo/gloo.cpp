#include "shoal/comm/gloo/gloo.h"

#include <algorithm>
#include <iterator>
#include <mutex>

#include "shoal/comm/gloo/connections.h"
#include "shoal/comm/gloo/listener.h"
#include "shoal/comm/gloo/process_group.h"
#include "shoal/comm/job_store.h"
#include "shoal/comm/pairwise.h"
#include "shoal/comm/transport.h"
#include "shoal/core/error.h"

namespace shoal::comm {
namespace {

class GlooTransport final : public Transport {
 public:
  explicit GlooTransport(const GlooOptions& options) : options_(options) {
    // By inode too: the device of a round before may be closed meanwhile.
    const std::map<int, ino_t> before = listening_descriptors(options.address);
    device_ = make_gloo_device(options.address);
    for (const auto& [fd, inode] : listening_descriptors(options.address)) {
      const auto found = before.find(fd);
      if (found == before.end() || found->second != inode) listeners_.push_back(fd);
    }
  }

  [[nodiscard]] std::string name() const override { return "gloo"; }

  c10::intrusive_ptr<c10d::Backend> make_group(const GroupSpec& group, int color) override {
    return make_pairwise_backend(make_bare_group(group, color), group.name, options_.board);
  }

  c10::intrusive_ptr<c10d::Backend> make_bare_group(const GroupSpec& group, int color) override {
    accept_new_connections(listeners_);
    auto store = c10::make_intrusive<JobStore>(
        options_.store, format("gloo/{}/{}/{}/", group.name, group.before, color),
        options_.deadline);
    const auto connect = [&] {
      return make_gloo_process_group(device_, store, group.rank, group.size(),
                                     beyond(options_.deadline));
    };
    if (!options_.abortable) return connect();
    const std::set<Connection> before = open_connections(options_.store->server().port);
    auto made = connect();
    const std::set<Connection> after = open_connections(options_.store->server().port);
    // A group that is destroyed in the background does not keep the store from being closed.
    store->disconnect();
    const std::lock_guard lock(mutex_);
    std::set_difference(after.begin(), after.end(), before.begin(), before.end(),
                        std::inserter(connections_, connections_.end()));
    return made;
  }

  void close_doors() override { refuse_new_connections(listeners_); }

  [[nodiscard]] bool can_break_off() const override { return options_.abortable; }
  [[nodiscard]] bool has_lost_a_connection() override {
    const std::lock_guard lock(mutex_);
    return any_is_lost(connections_);
  }
  void break_off() override {
    const std::lock_guard lock(mutex_);
    shut_down(connections_);
  }

 private:
  GlooOptions options_;
  GlooDevice device_;
  std::vector<int> listeners_;
  std::mutex mutex_;
  std::set<Connection> connections_;  // of all groups
};

}  // namespace

std::unique_ptr<Transport> make_gloo_transport(const GlooOptions& options) {
  return std::make_unique<GlooTransport>(options);
}

}  // namespace shoal::comm
