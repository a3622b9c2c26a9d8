// A buffer for intermediate results that a thread keeps from call to call.
//
// The C library gives a large block back to the system as soon as it is freed; mapping it afresh for every call would
// cost as much as the call itself.
#pragma once

#include <cstdint>
#include <cstdlib>
#include <memory>
#include <new>

namespace nbfnet {

// At least `size` numbers, aligned to a cache line, with any content. The next call of the same thread reuses them.
template <class Scalar>
Scalar *scratch(int64_t size) {
    struct Free {
        void operator()(void *block) const { std::free(block); }
    };
    thread_local std::unique_ptr<void, Free> block;
    thread_local int64_t capacity = 0;
    if (size > capacity) {
        capacity = 0;
        block.reset();
        block.reset(std::aligned_alloc(64, (size * sizeof(Scalar) + 63) / 64 * 64));
        if (!block) throw std::bad_alloc();
        capacity = size;
    }
    return static_cast<Scalar *>(block.get());
}

}  // namespace nbfnet
