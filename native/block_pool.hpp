// Large blocks of memory that are kept and handed out again.
//
// The C library gives a large block back to the system as soon as it is freed. Every result would then be mapped, and
// cleared by the system, page by page, which costs more than to compute it. The pool never holds more memory, used and
// free together, than was once in use.
#pragma once

#include <cstddef>
#include <cstdint>

namespace nbfnet {

// At least `bytes` bytes, aligned to a cache line, with any content; null where the system has no more.
void *take_block(size_t bytes);
void give_back_block(void *block);

// An array of any content for the duration of a scope.
template <class Scalar>
class PooledArray {
public:
    explicit PooledArray(int64_t size);
    ~PooledArray() { give_back_block(data_); }
    PooledArray(const PooledArray &) = delete;
    PooledArray &operator=(const PooledArray &) = delete;
    Scalar *data() const { return static_cast<Scalar *>(data_); }

private:
    void *data_;
};

}  // namespace nbfnet
