// Products of small matrices that stay in cache: C += A B and C += A' B, on rows padded to whole registers.
#pragma once

#include "simd/lanes.hpp"

namespace nbfnet::NBFNET_ISA {

template <class Scalar>
inline constexpr int register_lanes = register_bytes / static_cast<int>(sizeof(Scalar));

// A row of `count` numbers takes this many, so that registers never reach beyond it.
template <class Scalar>
NBFNET_INLINE int64_t padded(int64_t count) {
    return (count + register_lanes<Scalar> - 1) / register_lanes<Scalar> * register_lanes<Scalar>;
}

template <class Scalar, bool Transposed, int Rows, int Registers>
NBFNET_INLINE void multiply_block(int64_t depth, const Scalar *a, int64_t lda, const Scalar *b, int64_t ldb, Scalar *c,
                                  int64_t ldc) {
    using V = Lanes<Scalar, register_lanes<Scalar>>;
    V sum[Rows][Registers];
    each<Rows>([&](auto r) __attribute__((always_inline)) {
        each<Registers>([&](auto j)
                            __attribute__((always_inline)) { sum[r][j] = load<V>(c + r * ldc + j * lane_count<V>); });
    });
    for (int64_t k = 0; k < depth; ++k) {
        V right[Registers];
        each<Registers>([&](auto j)
                            __attribute__((always_inline)) { right[j] = load<V>(b + k * ldb + j * lane_count<V>); });
        each<Rows>([&](auto r) __attribute__((always_inline)) {
            const V left = (Transposed ? a[k * lda + r] : a[r * lda + k]) - V{};  // in every lane
            each<Registers>([&](auto j)
                                __attribute__((always_inline)) { sum[r][j] = fused(left, right[j], sum[r][j]); });
        });
    }
    each<Rows>([&](auto r) __attribute__((always_inline)) {
        each<Registers>([&](auto j)
                            __attribute__((always_inline)) { store<V>(c + r * ldc + j * lane_count<V>, sum[r][j]); });
    });
}

template <class Scalar, bool Transposed, int Registers>
NBFNET_INLINE void multiply_columns(int64_t rows, int64_t depth, const Scalar *a, int64_t lda, const Scalar *b,
                                    int64_t ldb, Scalar *c, int64_t ldc) {
    const int64_t step = Transposed ? 1 : lda;
    int64_t r = 0;
    for (; r + 6 <= rows; r += 6)
        multiply_block<Scalar, Transposed, 6, Registers>(depth, a + r * step, lda, b, ldb, c + r * ldc, ldc);
    for (; r + 2 <= rows; r += 2)
        multiply_block<Scalar, Transposed, 2, Registers>(depth, a + r * step, lda, b, ldb, c + r * ldc, ldc);
    for (; r < rows; ++r)
        multiply_block<Scalar, Transposed, 1, Registers>(depth, a + r * step, lda, b, ldb, c + r * ldc, ldc);
}

// C (rows, columns) += A (rows, depth) B (depth, columns), or with Transposed A given as (depth, rows).
// The columns of B and C are padded.
template <class Scalar, bool Transposed = false>
void multiply_add(int64_t rows, int64_t columns, int64_t depth, const Scalar *a, int64_t lda, const Scalar *b,
                  int64_t ldb, Scalar *c, int64_t ldc) {
    constexpr int lanes = register_lanes<Scalar>;
    int64_t j = 0;
    for (; j + 2 * lanes <= padded<Scalar>(columns); j += 2 * lanes)
        multiply_columns<Scalar, Transposed, 2>(rows, depth, a, lda, b + j, ldb, c + j, ldc);
    for (; j < columns; j += lanes)
        multiply_columns<Scalar, Transposed, 1>(rows, depth, a, lda, b + j, ldb, c + j, ldc);
}

}  // namespace nbfnet::NBFNET_ISA
