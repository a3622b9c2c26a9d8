#include "memory/block_pool.hpp"

#include <algorithm>
#include <bit>
#include <cstdlib>
#include <iterator>
#include <list>
#include <mutex>
#include <unordered_map>
#if defined(__linux__)
#include <sys/mman.h>
#endif

namespace nbfnet {
namespace {

struct FreeBlock {
    void *block;
    size_t bytes;
};

struct Pool {
    std::mutex mutex;
    std::list<FreeBlock> free;  // the longest unused first
    std::unordered_map<void *, size_t> used;
    size_t free_bytes = 0, used_bytes = 0, most_used_bytes = 0;
};

// Never destroyed: arrays may outlive every static object.
Pool &pool() {
    static Pool *const the_pool = new Pool;
    return *the_pool;
}

constexpr size_t most_bytes = size_t{1} << 62;  // more cannot be rounded up

// Sizes are rounded up by at most an eighth, so that blocks of about the same size can stand in for each other.
size_t rounded_up(size_t bytes) {
    const size_t step = std::max<size_t>(64, std::bit_floor(bytes) / 8);
    return (bytes + step - 1) / step * step;
}

// A new block of the system's; a large one on huge pages where the system has them: rows are read in any order, and
// the addresses of small pages would not fit the processor's table of them.
void *new_block(size_t bytes) {
#if defined(__linux__)
    constexpr size_t huge_page = size_t(2) << 20;
    if (bytes >= 2 * huge_page) {
        bytes = (bytes + huge_page - 1) / huge_page * huge_page;
        void *block = std::aligned_alloc(huge_page, bytes);
        if (block) madvise(block, bytes, MADV_HUGEPAGE);
        return block;
    }
#endif
    return std::aligned_alloc(64, bytes);
}

}  // namespace

void *take_block(size_t bytes) {
    if (bytes > most_bytes) return nullptr;
    bytes = rounded_up(bytes);
    Pool &p = pool();
    const std::lock_guard lock(p.mutex);
    void *block = nullptr;
    // The latest block that fits is the one most likely to be in a cache.
    for (auto it = p.free.rbegin(); it != p.free.rend(); ++it) {
        if (it->bytes >= bytes && it->bytes <= bytes + bytes / 4) {
            block = it->block;
            bytes = it->bytes;
            p.free_bytes -= bytes;
            p.free.erase(std::next(it).base());
            break;
        }
    }
    const size_t most_used_before = p.most_used_bytes;
    p.used_bytes += bytes;
    p.most_used_bytes = std::max(p.most_used_bytes, p.used_bytes);
    while (!p.free.empty() && p.used_bytes + p.free_bytes > p.most_used_bytes + p.most_used_bytes / 4) {
        p.free_bytes -= p.free.front().bytes;
        std::free(p.free.front().block);
        p.free.pop_front();
    }
    if (!block) block = new_block(bytes);
    if (!block) {
        p.used_bytes -= bytes;
        p.most_used_bytes = most_used_before;
        return nullptr;
    }
    p.used.emplace(block, bytes);
    return block;
}

void give_back_block(void *block) {
    Pool &p = pool();
    const std::lock_guard lock(p.mutex);
    const auto it = p.used.find(block);
    const size_t bytes = it->second;
    p.used.erase(it);
    p.used_bytes -= bytes;
    p.free_bytes += bytes;
    p.free.push_back({block, bytes});
}

}  // namespace nbfnet
