// A tile: the dims of one row that fit into a few registers, and the walk over all tiles of a row's dims.
//
// A message may work on `Parts` groups of dims that belong together (RotatE: real and imaginary), a stride apart.
#pragma once

#include "simd/lanes.hpp"

namespace nbfnet::NBFNET_ISA {

// How many registers of a row one tile holds at most: PNA keeps four statistics of each.
inline constexpr int registers_per_tile = 2;

// Where the dims of a tile are: the first one, and how many lanes of a register belong to the row.
struct TileDims {
    int64_t first, stride;
    int lanes;
};

// `Whole`: every lane of the registers belongs to the row.
template <class V_, int Parts_, int Count_, bool Whole>
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
    static NBFNET_INLINE V load_register(const Scalar *row, const TileDims &d, int i, int part) {
        const Scalar *from = row + i * lane_count<V> + part * d.stride;
        if constexpr (Whole) return NBFNET_ISA::load<V>(from);
        else return load_some<V>(from, d.lanes);
    }
    static NBFNET_INLINE void store_register(Scalar *row, V value, const TileDims &d, int i, int part) {
        Scalar *to = row + i * lane_count<V> + part * d.stride;
        if constexpr (Whole) NBFNET_ISA::store<V>(to, value);
        else store_some<V>(to, value, d.lanes);
    }
    NBFNET_INLINE void load(const Scalar *row, const TileDims &d) {
        each_register([&](auto i, auto part)
                          __attribute__((always_inline)) { lanes[i][part] = load_register(row, d, i, part); });
    }
    NBFNET_INLINE void store(Scalar *row, const TileDims &d) const {
        each_register([&](auto i, auto part)
                          __attribute__((always_inline)) { store_register(row, lanes[i][part], d, i, part); });
    }
    static NBFNET_INLINE void prefetch(const Scalar *row, const TileDims &d) {
        each<Parts>([&](auto part) __attribute__((always_inline)) {
            for (int byte = 0; byte < Count * static_cast<int>(sizeof(V)); byte += 64)
                __builtin_prefetch(reinterpret_cast<const char *>(row + part * d.stride) + byte);
        });
    }
};

// Calls walk<Tile>(dims) one register at a time until the dims of a part are covered.
template <class Scalar, int Parts, class Walk>
NBFNET_INLINE void each_register_tile(int64_t part_dims, const Walk &walk, int64_t first = 0) {
    constexpr int lanes = register_bytes / int(sizeof(Scalar));
    using T = Tile<Lanes<Scalar, lanes>, Parts, 1, false>;
    for (; first < part_dims; first += lanes) {
        const int64_t left = part_dims - first;
        walk.template operator()<T>(TileDims{first, part_dims, left < lanes ? static_cast<int>(left) : lanes});
    }
}

// The same, the widest tiles first.
template <class Scalar, int Parts, class Walk>
NBFNET_INLINE void each_tile(int64_t part_dims, const Walk &walk) {
    constexpr int lanes = register_bytes / int(sizeof(Scalar)), count = registers_per_tile / Parts;
    using T = Tile<Lanes<Scalar, lanes>, Parts, count, true>;
    int64_t first = 0;
    for (; first + lanes * count <= part_dims; first += lanes * count)
        walk.template operator()<T>(TileDims{first, part_dims, lanes});
    each_register_tile<Scalar, Parts>(part_dims, walk, first);
}

}  // namespace nbfnet::NBFNET_ISA
