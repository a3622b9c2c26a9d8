// Draws m of n positions without replacement, every set of them with the same probability, by Floyd's algorithm: for
// j = n - m .. n - 1 take a random t of 0 .. j or, where t was taken before, j itself.
//
// Nothing random is remembered: draws depend on the key alone, not on the thread, nor on what was drawn before.
// sampling/drawing.py has the same draws in NumPy.
#pragma once

#include <cstdint>

namespace nbfnet {

// The finalizer of splitmix64: every bit of the result depends on every bit of x.
inline uint64_t mix(uint64_t x) {
    x = (x ^ (x >> 30)) * 0xbf58476d1ce4e5b9u;
    x = (x ^ (x >> 27)) * 0x94d049bb133111ebu;
    return x ^ (x >> 31);
}

inline constexpr uint64_t golden = 0x9e3779b97f4a7c15u;

// The key of an entity's draws among its in-edges (side 0) or its out-edges (side 1).
inline uint64_t draw_key(uint64_t seed, int32_t entity, int side) {
    return mix(seed + golden * (2 * static_cast<uint64_t>(entity) + side + 1));
}

// A random number of 0 .. last, for last < 2^32.
inline uint64_t draw_number(uint64_t key, uint64_t last) { return (mix(key + golden * last) >> 32) * (last + 1) >> 32; }

}  // namespace nbfnet
