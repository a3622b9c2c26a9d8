// The semirings of the path loops, on values of one row: one double, or as many at once as a register holds. Of wider
// vectors GCC makes one number after the other.
#pragma once

#include <cstdint>

#include "simd/lanes.hpp"

namespace nbfnet::NBFNET_ISA {

typedef double Doubles __attribute__((vector_size(register_bytes)));
typedef int64_t DoublesMask __attribute__((vector_size(register_bytes)));

inline void spread(double value, double &part) { part = value; }
inline void spread(double value, Doubles &part) { part = Doubles{} + value; }

inline bool all(bool mask) { return mask; }
inline bool all(const DoublesMask &mask) {
    int64_t every = -1;
#if defined(__AVX512F__)
    typedef int8_t Bytes __attribute__((vector_size(8)));
    const Bytes bytes = __builtin_convertvector(mask, Bytes);
    __builtin_memcpy(&every, &bytes, 8);
#else
    for (int i = 0; i < register_bytes / 8; ++i) every &= mask[i];
#endif
    return every == -1;
}

// What comparing two parts gives.
template <class Part>
struct Mask {
    using type = DoublesMask;
};
template <>
struct Mask<double> {
    using type = bool;
};

struct PlusTimes {
    static constexpr double zero = 0.0, one = 1.0;
    static constexpr bool idempotent = false;
    template <class P>
    static void add(P &sum, const P &value) {
        sum += value;
    }
    template <class P>
    static void multiply(P &value, double weight) {
        value *= weight;
    }
};

struct MinPlus {
    static constexpr double zero = __builtin_inf(), one = 0.0;
    static constexpr bool idempotent = true;
    template <class P>
    static void add(P &sum, const P &value) {
        sum = value < sum ? value : sum;
    }
    template <class P>
    static void multiply(P &value, double weight) {
        value += weight;
    }
};

struct MaxMin {
    static constexpr double zero = -__builtin_inf(), one = __builtin_inf();
    static constexpr bool idempotent = true;
    template <class P>
    static void add(P &sum, const P &value) {
        sum = value > sum ? value : sum;
    }
    template <class P>
    static void multiply(P &value, double weight) {
        P limit;
        spread(weight, limit);
        value = value < limit ? value : limit;
    }
};

struct MaxTimes {
    static constexpr double zero = 0.0, one = 1.0;
    static constexpr bool idempotent = true;
    template <class P>
    static void add(P &sum, const P &value) {
        sum = value > sum ? value : sum;
    }
    template <class P>
    static void multiply(P &value, double weight) {
        value *= weight;
    }
};

}  // namespace nbfnet::NBFNET_ISA
