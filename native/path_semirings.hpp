// The semirings of the path loops, on the values of one row: one double, or eight at once.
#pragma once

#include <cstdint>

namespace nbfnet::NBFNET_ISA {

typedef double Eight __attribute__((vector_size(64)));
typedef int64_t EightMask __attribute__((vector_size(64)));
typedef int8_t EightBytes __attribute__((vector_size(8)));

inline void spread(double value, double &part) { part = value; }
inline void spread(double value, Eight &part) { part = Eight{} + value; }

inline bool all(bool mask) { return mask; }
inline bool all(const EightMask &mask) {
    const EightBytes bytes = __builtin_convertvector(mask, EightBytes);
    int64_t every;
    __builtin_memcpy(&every, &bytes, 8);
    return every == -1;
}

// What comparing two parts gives.
template <class Part>
struct Mask { using type = EightMask; };
template <>
struct Mask<double> { using type = bool; };

struct PlusTimes {
    static constexpr double zero = 0.0, one = 1.0;
    static constexpr bool idempotent = false;
    template <class P>
    static void add(P &sum, const P &value) { sum += value; }
    template <class P>
    static void multiply(P &value, double weight) { value *= weight; }
};

struct MinPlus {
    static constexpr double zero = __builtin_inf(), one = 0.0;
    static constexpr bool idempotent = true;
    template <class P>
    static void add(P &sum, const P &value) { sum = value < sum ? value : sum; }
    template <class P>
    static void multiply(P &value, double weight) { value += weight; }
};

struct MaxMin {
    static constexpr double zero = -__builtin_inf(), one = __builtin_inf();
    static constexpr bool idempotent = true;
    template <class P>
    static void add(P &sum, const P &value) { sum = value > sum ? value : sum; }
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
    static void add(P &sum, const P &value) { sum = value > sum ? value : sum; }
    template <class P>
    static void multiply(P &value, double weight) { value *= weight; }
};

}  // namespace nbfnet::NBFNET_ISA
