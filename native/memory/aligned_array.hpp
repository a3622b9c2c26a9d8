// AlignedArray: an array aligned to cache lines, from the pool of blocks.
#pragma once

#include <cstdint>
#include <cstring>
#include <new>

#include "memory/block_pool.hpp"
#include "simd/always_inline.hpp"

namespace nbfnet {

template <class T>
class AlignedArray {
  public:
    NBFNET_INLINE AlignedArray() {}
    NBFNET_INLINE explicit AlignedArray(int64_t size) { resize(size); }
    NBFNET_INLINE AlignedArray(AlignedArray &&other) noexcept { exchange(other); }
    AlignedArray(const AlignedArray &) = delete;
    AlignedArray &operator=(const AlignedArray &) = delete;
    NBFNET_INLINE ~AlignedArray() { drop(); }

    // Any earlier content is lost; the new one is all zeros.
    NBFNET_INLINE void resize(int64_t size) {
        drop();
        reserve(size);
        clear_to_zero();
    }
    // At least this many, with any content.
    NBFNET_INLINE void reserve(int64_t size) {
        if (size <= size_) return;
        drop();
        block_ = static_cast<T *>(take_block(static_cast<size_t>(size) * sizeof(T)));
        if (!block_) throw std::bad_alloc();
        size_ = size;
    }
    // At least this many, the first `kept` of them as they were.
    NBFNET_INLINE void grow(int64_t size, int64_t kept) {
        if (size <= size_) return;
        AlignedArray larger;
        larger.reserve(2 * size);
        if (kept) std::memcpy(larger.block_, block_, static_cast<size_t>(kept) * sizeof(T));
        exchange(larger);
    }
    NBFNET_INLINE void clear_to_zero() {
        if (size_) std::memset(block_, 0, static_cast<size_t>(size_) * sizeof(T));
    }
    NBFNET_INLINE T *data() { return block_; }
    NBFNET_INLINE const T *data() const { return block_; }
    NBFNET_INLINE int64_t size() const { return size_; }
    NBFNET_INLINE T &operator[](int64_t i) { return block_[i]; }
    NBFNET_INLINE const T &operator[](int64_t i) const { return block_[i]; }

  private:
    NBFNET_INLINE void drop() {
        if (block_) give_back_block(block_);
        block_ = nullptr;
        size_ = 0;
    }
    NBFNET_INLINE void exchange(AlignedArray &other) {
        T *const block = block_;
        const int64_t size = size_;
        block_ = other.block_;
        size_ = other.size_;
        other.block_ = block;
        other.size_ = size;
    }

    T *block_ = nullptr;
    int64_t size_ = 0;
};

}  // namespace nbfnet
