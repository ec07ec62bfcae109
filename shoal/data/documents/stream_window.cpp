#include "shoal/data/documents/stream_window.h"

#include <algorithm>

namespace shoal::data {

bool StreamWindow::grow() {
  if (at_end_) return false;
  if (front_ > size_ / 2) {  // each byte moves once on average
    std::copy(bytes_.begin() + static_cast<ptrdiff_t>(front_),
              bytes_.begin() + static_cast<ptrdiff_t>(size_), bytes_.begin());
    size_ -= front_;
    front_ = 0;
  }
  if (bytes_.size() < size_ + chunk_ + kPadding)
    bytes_.resize(std::max(size_ + chunk_ + kPadding, bytes_.size() + bytes_.size() / 2));
  const size_t got = stream_.read({bytes_.data() + size_, chunk_});
  size_ += got;
  if (got == chunk_) chunk_ = std::min(2 * chunk_, kMostAtOnce);
  at_end_ = got == 0;
  return got > 0;
}

void StreamWindow::drop(size_t bytes) {
  front_ += bytes;
  position_ += bytes;
}

}  // namespace shoal::data
