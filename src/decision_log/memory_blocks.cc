#include "decision_log/blocks.h"

namespace weir::decision_log {
namespace {

bool in_range(const Block& block, const BlockRange& range) {
  return block.position >= range.from_position && block.position <= range.to_position &&
         block.highest >= range.from_number && block.lowest <= range.to_number &&
         block.latest >= range.from && block.earliest <= range.to;
}

}  // namespace

Result<void> MemoryBlocks::write(std::span<const Block> blocks, Time oldest) {
  const base::Guard guard(mutex_);
  for (const Block& block : blocks) {
    if (!blocks_.empty() && blocks_.back()->position == block.position) {
      bytes_ -= blocks_.back()->rows.size();
      blocks_.pop_back();
    }
    bytes_ += block.rows.size();
    blocks_.push_back(std::make_shared<const Block>(block));
  }
  while (!blocks_.empty() && (bytes_ > most_bytes_ || blocks_.front()->latest < oldest)) {
    bytes_ -= blocks_.front()->rows.size();
    blocks_.pop_front();
  }
  return {};
}

Result<void> MemoryBlocks::scan(const BlockRange& range, Order order,
                                const std::function<bool(const Block&)>& visit) const {
  std::deque<std::shared_ptr<const Block>> blocks;
  {
    const base::Guard guard(mutex_);
    blocks = blocks_;
  }
  for (std::size_t i = 0; i < blocks.size(); ++i) {
    const Block& block = *blocks[order == Order::oldest_first ? i : blocks.size() - 1 - i];
    if (in_range(block, range) && !visit(block)) break;
  }
  return {};
}

std::uint64_t MemoryBlocks::bytes() const {
  const base::Guard guard(mutex_);
  return bytes_;
}

}  // namespace weir::decision_log
