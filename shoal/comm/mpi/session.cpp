#include "shoal/comm/mpi/session.h"

#include <algorithm>
#include <array>
#include <exception>
#include <limits>
#include <stdexcept>

#include "shoal/core/error.h"

namespace shoal::comm {

void check_mpi(int code, const char* call) {
  if (code == MPI_SUCCESS) return;
  std::array<char, MPI_MAX_ERROR_STRING> text{};
  int length = 0;
  MPI_Error_string(code, text.data(), &length);
  throw std::runtime_error(
      format("{}: {}", call, std::string_view(text.data(), static_cast<size_t>(length))));
}

MpiSession::MpiSession(int max_tags) {
  int granted = MPI_THREAD_SINGLE;
  MPI_Init_thread(nullptr, nullptr, MPI_THREAD_MULTIPLE, &granted);
  if (granted != MPI_THREAD_MULTIPLE) {
    throw UsageError(
        "this MPI does not support MPI_THREAD_MULTIPLE, which shoal needs: use an MPI built with "
        "it, or "
        "set comm.backend to gloo");
  }
  MPI_Comm_set_errhandler(MPI_COMM_WORLD, MPI_ERRORS_RETURN);
  MPI_Comm_rank(MPI_COMM_WORLD, &rank_);
  MPI_Comm_size(MPI_COMM_WORLD, &size_);
  const int* largest = nullptr;
  int found = 0;
  MPI_Comm_get_attr(MPI_COMM_WORLD, MPI_TAG_UB, &largest, &found);
  if (found != 0) tags_ = std::min(*largest, std::numeric_limits<int>::max() - 1) + 1;
  tags_ = std::min(tags_, max_tags);
}

MpiSession::~MpiSession() {
  if (std::uncaught_exceptions() == 0) MPI_Finalize();
}

MPI_Comm MpiSession::make_communicator(const std::vector<int>& ranks, int tag) const {
  MPI_Group world = MPI_GROUP_NULL;
  MPI_Group group = MPI_GROUP_NULL;
  MPI_Comm communicator = MPI_COMM_NULL;
  check_mpi(MPI_Comm_group(MPI_COMM_WORLD, &world), "MPI_Comm_group");
  check_mpi(MPI_Group_incl(world, static_cast<int>(ranks.size()), ranks.data(), &group),
            "MPI_Group_incl");
  check_mpi(MPI_Comm_create_group(MPI_COMM_WORLD, group, tag, &communicator),
            "MPI_Comm_create_group");
  MPI_Group_free(&group);
  MPI_Group_free(&world);
  MPI_Comm_set_errhandler(communicator, MPI_ERRORS_RETURN);
  return communicator;
}

}  // namespace shoal::comm
