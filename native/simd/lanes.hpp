// Lanes: a few numbers handled at once, in a register of whichever instruction set the file is compiled for.
//
// GCC's and Clang's vector types give + - * / and comparisons; what they lack is spelled out here. Files that include
// this are compiled without contraction of a * b + c, so that a message has the same bits wherever it is computed: the
// backward pass finds a maximum again by equality. Where a fused product is wanted, `fused` says so.
#pragma once

#include <cstdint>
#include <type_traits>
#include <utility>
#if defined(__x86_64__)
#include <immintrin.h>
#elif defined(__aarch64__)
#include <arm_neon.h>
#endif

#include "simd/always_inline.hpp"

namespace nbfnet::NBFNET_ISA {

#if defined(__AVX512F__)
inline constexpr int register_bytes = 64;
#elif defined(__AVX2__)
inline constexpr int register_bytes = 32;
#else
inline constexpr int register_bytes = 16;
#endif

template <class Scalar, int Count>
struct LanesOf {
    typedef Scalar type __attribute__((vector_size(Count * sizeof(Scalar))));
};
template <class Scalar>
struct LanesOf<Scalar, 1> {
    using type = Scalar;
};
template <class Scalar, int Count>
using Lanes = typename LanesOf<Scalar, Count>::type;

template <class V>
struct ScalarOfLanes {
    using type = std::remove_cvref_t<decltype(V{}[0])>;
};
template <class V>
    requires std::is_floating_point_v<V>
struct ScalarOfLanes<V> {
    using type = V;
};
template <class V>
using ScalarOf = typename ScalarOfLanes<V>::type;

template <class V>
inline constexpr int lane_count = sizeof(V) / sizeof(ScalarOf<V>);

// step(0), step(1), ... step(Count - 1) with compile-time constants, so that arrays indexed by them stay in registers.
template <int Count, class Step>
NBFNET_INLINE void each(Step &&step) {
    [&]<int... I>(std::integer_sequence<int, I...>) __attribute__((always_inline)) {
        (step(std::integral_constant<int, I>{}), ...);
    }(std::make_integer_sequence<int, Count>{});
}

#if defined(__AVX2__)
// All bits of the first `count` of eight lanes.
NBFNET_INLINE __m256i first_lanes(int count) {
    return _mm256_cmpgt_epi32(_mm256_set1_epi32(count), _mm256_setr_epi32(0, 1, 2, 3, 4, 5, 6, 7));
}
#endif

template <class V>
NBFNET_INLINE V load(const ScalarOf<V> *from) {
    V lanes;
    __builtin_memcpy(&lanes, from, sizeof(V));
    return lanes;
}

template <class V>
NBFNET_INLINE void store(ScalarOf<V> *to, V lanes) {
    __builtin_memcpy(to, &lanes, sizeof(V));
}

// The first `count` lanes; the others are zero when loaded, and are not stored.
template <class V>
NBFNET_INLINE V load_some(const ScalarOf<V> *from, int count) {
#if defined(__AVX512F__)
    if constexpr (std::is_same_v<V, Lanes<float, 16>>)
        return (V)_mm512_maskz_loadu_ps(static_cast<__mmask16>((1u << count) - 1), from);
#elif defined(__AVX2__)
    if constexpr (std::is_same_v<V, Lanes<float, 8>>) return (V)_mm256_maskload_ps(from, first_lanes(count));
#endif
    if (count == lane_count<V>) return load<V>(from);
    V lanes{};
    for (int i = 0; i < count; ++i) lanes[i] = from[i];
    return lanes;
}

template <class V>
NBFNET_INLINE void store_some(ScalarOf<V> *to, V lanes, int count) {
#if defined(__AVX512F__)
    if constexpr (std::is_same_v<V, Lanes<float, 16>>)
        return _mm512_mask_storeu_ps(to, static_cast<__mmask16>((1u << count) - 1), (__m512)lanes);
#endif
    if (count == lane_count<V>) return store<V>(to, lanes);
#if defined(__AVX2__)
    if constexpr (std::is_same_v<V, Lanes<float, 8>>) return _mm256_maskstore_ps(to, first_lanes(count), (__m256)lanes);
#endif
    for (int i = 0; i < count; ++i) to[i] = lanes[i];
}

// a * b + c, rounded once where the instruction set can.
template <class V>
NBFNET_INLINE V fused(V a, V b, V c) {
#if defined(__AVX512F__)
    if constexpr (std::is_same_v<V, Lanes<float, 16>>) return (V)_mm512_fmadd_ps((__m512)a, (__m512)b, (__m512)c);
    if constexpr (std::is_same_v<V, Lanes<double, 8>>) return (V)_mm512_fmadd_pd((__m512d)a, (__m512d)b, (__m512d)c);
#elif defined(__FMA__)
    if constexpr (std::is_same_v<V, Lanes<float, 8>>) return (V)_mm256_fmadd_ps((__m256)a, (__m256)b, (__m256)c);
    if constexpr (std::is_same_v<V, Lanes<double, 4>>) return (V)_mm256_fmadd_pd((__m256d)a, (__m256d)b, (__m256d)c);
#elif defined(__aarch64__)
    if constexpr (std::is_same_v<V, Lanes<float, 4>>)
        return (V)vfmaq_f32((float32x4_t)c, (float32x4_t)a, (float32x4_t)b);
    if constexpr (std::is_same_v<V, Lanes<double, 2>>)
        return (V)vfmaq_f64((float64x2_t)c, (float64x2_t)a, (float64x2_t)b);
#endif
    return a * b + c;
}

template <class V>
NBFNET_INLINE V maximum(V a, V b) {
    return a > b ? a : b;
}

template <class V>
NBFNET_INLINE V minimum(V a, V b) {
    return a < b ? a : b;
}

template <class V>
NBFNET_INLINE V root(V a) {
    if constexpr (std::is_same_v<V, float>) {
        return __builtin_sqrtf(a);
    } else if constexpr (std::is_same_v<V, double>) {
        return __builtin_sqrt(a);
    } else {
#if defined(__AVX512F__)
        if constexpr (std::is_same_v<V, Lanes<float, 16>>) return (V)_mm512_sqrt_ps((__m512)a);
#elif defined(__AVX2__)
        if constexpr (std::is_same_v<V, Lanes<float, 8>>) return (V)_mm256_sqrt_ps((__m256)a);
#endif
        for (int i = 0; i < lane_count<V>; ++i) a[i] = root(a[i]);
        return a;
    }
}

// Halves are added to each other until one number is left.
template <class V>
NBFNET_INLINE ScalarOf<V> sum_of_lanes(V a) {
    if constexpr (lane_count<V> == 1) {
        return a;
    } else {
        using Half = Lanes<ScalarOf<V>, lane_count<V> / 2>;
        Half halves[2];
        __builtin_memcpy(halves, &a, sizeof(V));
        return sum_of_lanes<Half>(halves[0] + halves[1]);
    }
}

}  // namespace nbfnet::NBFNET_ISA
