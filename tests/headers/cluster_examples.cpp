#include <chrono>
#include <string>
#include <thread>
#include <vector>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "shoal/cluster/allocation.h"
#include "shoal/cluster/cpu_shares.h"
#include "shoal/cluster/environment.h"
#include "shoal/cluster/hostlist.h"
#include "shoal/cluster/launch.h"
#include "shoal/cluster/launch_line.h"
#include "shoal/cluster/membership.h"
#include "shoal/cluster/page_server.h"
#include "shoal/cluster/rank_process.h"
#include "shoal/cluster/rendezvous.h"
#include "shoal/cluster/restarts.h"
#include "shoal/cluster/rounds.h"
#include "shoal/cluster/run_owner.h"
#include "shoal/cluster/secret.h"
#include "shoal/cluster/staging.h"
#include "shoal/cluster/step_page.h"
#include "shoal/cluster/store_client.h"
#include "shoal/cluster/store_line.h"
#include "shoal/cluster/store_peer.h"
#include "shoal/cluster/store_seal.h"
#include "shoal/cluster/store_server.h"
#include "shoal/cluster/store_table.h"
#include "shoal/cluster/store_waiting.h"
#include "shoal/cluster/supervisor.h"
#include "shoal/cluster/watcher.h"

namespace shoal::cluster {
namespace {

using namespace std::chrono_literals;
using ::testing::ElementsAre;

// shoal/cluster/allocation.h
void allocation(const Environment& environment, const Membership& me) {
  const std::optional<Allocation> given = allocation_of(environment, me);
  given->hosts;
  read_hostfile("hosts.txt").ranks;
}

// shoal/cluster/cpu_shares.h
void shares() { cpu_shares(allowed_cpus(), 4); }

// shoal/cluster/launch_line.h
void launch_line(const Environment& environment) {
  srun_line(environment, 2, {"shoal", "launch", "--ranks", "4", "--", "doctor"});
  shell_text({"echo", "two words"});
}

// shoal/cluster/staging.h
void staging(const Environment& environment) {
  const Staging staging = staging_of("/opt/shoal/bin/shoal", "/local");
  staging.directory;
  staging.under_slurm(environment, 1000);
}

// shoal/cluster/hostlist.h
TEST(HeaderExamples, Hostlist) {
  EXPECT_THAT(expand_hostlist("n[1-3,07],gpu-a"), ElementsAre("n1", "n2", "n3", "n07", "gpu-a"));
  EXPECT_THAT(expand_tasks_per_node("2(x3),1"), ElementsAre(2, 2, 2, 1));
}

// shoal/cluster/launch.h
void launch() {
  supervise(programs_of_host({.command = {"shoal", "train", "run.yaml"}, .ranks = 4}), {});
}

// shoal/cluster/membership.h
void membership() {
  const Membership me = detect_membership(Environment::of_this_process());
  me.rank, me.world_size, me.launcher;
}

// shoal/cluster/rendezvous.h
void rendezvous(const Membership& me, const Environment& environment) {
  Rendezvous meeting = meet(me, environment, {.patience = 5min});
  meeting.store()->get("rank/0", 30s);
  meeting.address();
}

// shoal/cluster/run_owner.h
void run_owner(const Membership& me, const Environment& environment) {
  RunOwner owner("runs/a", me, environment, {});
  if (owner.was_lost()) return;
}

// shoal/cluster/store_client.h
void store_client(const Secret& secret) {
  auto store = StoreClient::connect({.endpoints = {{"10.0.0.1", 23456}}, .secret = secret}, 5min);
  store.set("rank/3", "node-b");
  store.get("rank/0", 30s);
}

// shoal/cluster/store_line.h
void store_line(const Endpoint& endpoint,
                const Secret& secret,
                const StoreRequest& request,
                Clock::time_point deadline) {
  std::string reason;
  auto line = greet_store(connect_to(endpoint, deadline), secret, deadline, reason);
  send_message(*line, request.encode(), deadline);
  const auto answer = receive_message(*line, deadline);
}

// shoal/cluster/store_peer.h
void store_peer(int fd,
                const Secret& secret,
                const std::string& bytes,
                const std::string& more,
                size_t max_bytes,
                Clock::time_point deadline) {
  StorePeer peer;
  send_all(fd, peer.greeting(), deadline);
  peer.hear(bytes);
  if (peer.knows(secret)) send_all(fd, peer.admit(secret), deadline);
  peer.hear(more);
  const StorePeer::Heard heard = peer.next(max_bytes);
}

// shoal/cluster/store_seal.h
void store_seal(int fd,
                const Secret& secret,
                const std::string& server_nonce,
                const std::string& client_nonce,
                const StoreRequest& request,
                const std::string& frame,
                Clock::time_point deadline) {
  StoreSeal requests(secret, StoreDirection::kRequests, server_nonce, client_nonce);
  send_all(fd, requests.seal(request.encode()), deadline);
  const auto message = requests.open(frame);
}

// shoal/cluster/store_server.h
void store_server(const Secret& secret) {
  StoreServer server({.address = "10.0.0.1", .ports = {23456}, .secret = secret});
  server.endpoint();
}

// shoal/cluster/store_table.h
void store_table(const StoreLimits& limits, const StoreRequest& request) {
  StoreTable table(limits);
  table.apply(request);
}

// shoal/cluster/store_waiting.h
void store_waiting(StoreWaiting& waiting,
                   const StoreRequest& request,
                   Clock::time_point now,
                   Clock::time_point until) {
  {
    const StoreWaiting::Client client = 1;
    waiting.enter(client, request, until);
  }
  for (const auto& [client, answer] : waiting.written("rank/3")) {
  }
  for (const auto& [client, answer] : waiting.overdue(now)) {
  }
}

// shoal/cluster/restarts.h
int restarts(const std::vector<Program>& programs, const SuperviseOptions& options) {
  Restarts restarts({.most = 10});
  while (true) {
    const JobResult result = supervise(programs, options);
    const Restarts::Verdict verdict = restarts.after(result);
    if (!verdict.wait) return verdict.exit_code;
    std::this_thread::sleep_for(*verdict.wait);
  }
}

// shoal/cluster/rounds.h
void rounds(const std::shared_ptr<StoreClient>& store, const DecideRound& decide) {
  Rounds rounds(store, {.seat = 3, .seats = 4, .deadline = 10min});
  const Round round = rounds.first(4);
  const std::optional<Round> next = rounds.next(round, 41, decide);
}

// shoal/cluster/page_server.h
void page_server() {
  PageServer server({.path = "/metrics", .port = 9400});
  server.show("up 1\n");
  server.endpoint().text();
}

// shoal/cluster/step_page.h
void step_page(const Child& child) {
  StepReport report;
  report.tell(40);
  child.steps.read().last;
}

// shoal/cluster/watcher.h
void watcher(const std::shared_ptr<StoreClient>& store,
             const ActivityBoard& board,
             void (*end)(const Error&)) {
  Watcher watcher({.rank = 3, .world_size = 8, .store = store, .board = &board, .on_end = end});
  watcher.tell_step(41);
}

// shoal/cluster/rank_process.h
void rank_process(const Program& program) {
  RankProcess rank(program);
  if (rank.has_just_ended()) rank.cause();
}

// shoal/cluster/supervisor.h
void supervisor(const std::vector<Program>& programs) {
  const JobResult result = supervise(programs, {});
  result.exit_code;
  result.cause;
}

}  // namespace
}  // namespace shoal::cluster
