// Relational SpMM: out_v = AGGREGATE({boundary_v} + {MESSAGE(source_x, edge_r) * weight : edge (x, r, v)}).
//
// What one call is, and the functions that serve a range of rows of one query: a set of them for each instruction set.
#pragma once

#include <cstdint>
#include <type_traits>

#include "instruction_set.hpp"

namespace nbfnet {

enum class Message : int { transe, distmult, rotate };
enum class Aggregate : int { sum, mean, max, min, pna };
inline constexpr int message_count = 3, aggregate_count = 5;

// The edges: row v has the slots indptr[v] .. indptr[v + 1] of the arrays beside it.
template <class Scalar>
struct Edges {
    const int64_t *indptr;     // (row + 1)
    const int32_t *source;     // (edge)
    const int32_t *relation;   // (edge)
    const Scalar *weight;      // (edge), or null: no weights
};

// One query's arrays, and the rows of it that a call serves.
template <class Scalar>
struct ForwardRows {
    Edges<Scalar> edges;
    int64_t dim, row_begin, row_end;
    const Scalar *source;     // (source row, dim)
    const Scalar *relation;   // (relation, dim)
    const Scalar *boundary;   // (row, dim)
    Scalar *out;              // (row, statistic, dim)
    bool past_caches;         // `out` is better stored past the caches
};

template <class Scalar>
struct BackwardRows {
    Edges<Scalar> edges;
    int64_t dim, row_begin, row_end;
    const Scalar *source;     // (source row, dim)
    const Scalar *relation;   // (relation, dim)
    const Scalar *boundary;   // (row, dim)
    const Scalar *grad_out;   // (row, statistic, dim)
    Scalar *grad_source;      // (source row, dim), added to
    Scalar *grad_relation;    // (relation, dim), added to
    Scalar *grad_boundary;    // (row, dim), overwritten
    Scalar *grad_weight;      // (edge), added to, or null: not wanted
    bool past_caches;         // `grad_boundary` is better stored past the caches
};

template <class Scalar>
using Forward = void (*)(const ForwardRows<Scalar> &);
template <class Scalar>
using Backward = void (*)(const BackwardRows<Scalar> &);

// The functions of one instruction set, for one type of number.
template <class Scalar>
struct Kernels {
    Forward<Scalar> forward[message_count][aggregate_count][2];    // [weighted]
    Backward<Scalar> backward[message_count][aggregate_count][2];  // [weighted]
};

#define NBFNET_DECLARE_KERNELS(isa)                     \
    namespace isa {                                     \
    extern const Kernels<float> relational_spmm_float;  \
    extern const Kernels<double> relational_spmm_double; \
    }
NBFNET_DECLARE_KERNELS(baseline)
#if defined(__x86_64__)
NBFNET_DECLARE_KERNELS(avx2)
NBFNET_DECLARE_KERNELS(avx512)
#endif
#undef NBFNET_DECLARE_KERNELS

// The functions for an instruction set that the machine has.
template <class Scalar>
const Kernels<Scalar> &kernels(InstructionSet set) {
    const auto pick = [](const Kernels<float> &of_float, const Kernels<double> &of_double) -> const auto & {
        if constexpr (std::is_same_v<Scalar, float>) return of_float;
        else return of_double;
    };
#if defined(__x86_64__)
    if (set == InstructionSet::avx512) return pick(avx512::relational_spmm_float, avx512::relational_spmm_double);
    if (set == InstructionSet::avx2) return pick(avx2::relational_spmm_float, avx2::relational_spmm_double);
#endif
    return pick(baseline::relational_spmm_float, baseline::relational_spmm_double);
}

}  // namespace nbfnet
