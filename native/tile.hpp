// A tile: the dims of one row that fit into a few registers, and the walk over all tiles of a row's dims.
//
// A message may work on `Parts` groups of dims that belong together (RotatE: real and imaginary), `part_stride` apart.
#pragma once

#include "lanes.hpp"

namespace nbfnet::NBFNET_ISA {

// How many registers of a row one tile holds at most: PNA keeps four statistics of each.
inline constexpr int registers_per_tile = 2;

template <class V_, int Parts_, int Count_>
struct Tile {
    using V = V_;
    using Scalar = ScalarOf<V>;
    static constexpr int Parts = Parts_, Count = Count_;

    V lanes[Count][Parts];

    // Calls step(i, part) for every register of the tile.
    template <class Step>
    static NBFNET_INLINE void each_register(Step &&step) {
        each<Count>([&](auto i) __attribute__((always_inline)) {
            each<Parts>([&](auto part) __attribute__((always_inline)) { step(i, part); });
        });
    }
    static NBFNET_INLINE int64_t offset(int i, int part, int64_t part_stride) {
        return i * lane_count<V> + part * part_stride;
    }
    NBFNET_INLINE void load(const Scalar *from, int64_t part_stride) {
        each_register([&](auto i, auto part) __attribute__((always_inline)) {
            lanes[i][part] = NBFNET_ISA::load<V>(from + offset(i, part, part_stride));
        });
    }
    NBFNET_INLINE void store(Scalar *to, int64_t part_stride) const {
        each_register([&](auto i, auto part) __attribute__((always_inline)) {
            NBFNET_ISA::store<V>(to + offset(i, part, part_stride), lanes[i][part]);
        });
    }
    NBFNET_INLINE void store_past_caches(Scalar *to, int64_t part_stride) const {
        each_register([&](auto i, auto part) __attribute__((always_inline)) {
            NBFNET_ISA::store_past_caches<V>(to + offset(i, part, part_stride), lanes[i][part]);
        });
    }
    static NBFNET_INLINE void prefetch(const Scalar *from, int64_t part_stride) {
        each<Parts>([&](auto part) __attribute__((always_inline)) {
            for (int byte = 0; byte < Count * static_cast<int>(sizeof(V)); byte += 64)
                __builtin_prefetch(reinterpret_cast<const char *>(from + part * part_stride) + byte);
        });
    }
};

// Calls walk<Tile>(first dim) until the dims are covered: the widest tiles first, then ever narrower ones.
template <class Scalar, int Parts, class Walk, int LaneCount = register_bytes / int(sizeof(Scalar)),
          int Count = registers_per_tile / Parts>
void each_tile(int64_t part_dims, const Walk &walk, int64_t first = 0) {
    using T = Tile<Lanes<Scalar, LaneCount>, Parts, Count>;
    for (; first + LaneCount * Count <= part_dims; first += LaneCount * Count) walk.template operator()<T>(first);
    if (first == part_dims) return;
    if constexpr (Count > 1) {
        each_tile<Scalar, Parts, Walk, LaneCount, Count / 2>(part_dims, walk, first);
    } else if constexpr (LaneCount > 1) {
        // Steps of four, not two: fewer copies of every function to compile, a few more passes over odd dims.
        each_tile<Scalar, Parts, Walk, (LaneCount > 4 ? LaneCount / 4 : 1), Count>(part_dims, walk, first);
    }
}

}  // namespace nbfnet::NBFNET_ISA
