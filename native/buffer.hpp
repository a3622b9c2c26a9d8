// Buffer: an array aligned to cache lines, from the pool of blocks. It stands in the namespace of its instruction set, as everything does that a
// kernel file compiles: a std::vector's functions are merged across files, and the merged copy may use instructions that
// the machine does not have.
#pragma once

#include <cstdint>
#include <cstring>
#include <new>
#include <utility>

#include "block_pool.hpp"

namespace nbfnet::NBFNET_ISA {

template <class T>
class Buffer {
  public:
    Buffer() = default;
    explicit Buffer(int64_t size) { resize(size); }
    Buffer(Buffer &&other) noexcept : block(std::exchange(other.block, nullptr)), count(std::exchange(other.count, 0)) {}
    Buffer(const Buffer &) = delete;
    Buffer &operator=(const Buffer &) = delete;
    ~Buffer() { drop(); }

    // Any earlier content is lost; the new one is all zeros.
    void resize(int64_t size) {
        drop();
        if (size == 0) return;
        block = static_cast<T *>(take_block(static_cast<size_t>(size) * sizeof(T)));
        if (!block) throw std::bad_alloc();
        count = size;
        clear_to_zero();
    }
    // At least this many, the first `kept` of them as they were.
    void grow(int64_t size, int64_t kept) {
        if (size <= count) return;
        Buffer larger(2 * size);
        if (kept) std::memcpy(larger.block, block, static_cast<size_t>(kept) * sizeof(T));
        std::swap(block, larger.block);
        std::swap(count, larger.count);
    }
    void clear_to_zero() {
        if (count) std::memset(block, 0, static_cast<size_t>(count) * sizeof(T));
    }
    T *data() { return block; }
    const T *data() const { return block; }
    int64_t size() const { return count; }
    T &operator[](int64_t i) { return block[i]; }
    const T &operator[](int64_t i) const { return block[i]; }

  private:
    void drop() {
        if (block) give_back_block(block);
        block = nullptr;
        count = 0;
    }

    T *block = nullptr;
    int64_t count = 0;
};

}  // namespace nbfnet::NBFNET_ISA
