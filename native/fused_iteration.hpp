// One Bellman-Ford iteration of the network as a single call:
//
//     h^(t)_v = shortcut h^(t-1)_v + ReLU(LayerNorm(W [h^(t-1)_v, AGGREGATE({MESSAGE(h^(t-1)_x, w_r)} + {h^(0)_v})] + b))
//
// for every row of a level of a RowPlan. A tile of rows gets its statistics, its projection, LayerNorm, activation and
// shortcut while it is in cache; the way back computes the statistics again in place of storing them.
#pragma once

#include <cstdint>

#include "relational_spmm.hpp"
#include "row_plan.hpp"
#include "work_shares.hpp"

namespace nbfnet {

template <class Scalar>
struct Layer {
    int64_t dim, relations;
    bool layer_norm, shortcut;
    const Scalar *relation;     // (family, relation, dim) edge representations
    const Scalar *weight;       // (dim, dim + features); features are (dim), or with PNA (dim, statistic, scaler)
    const Scalar *bias;         // (dim)
    const Scalar *norm_weight;  // (dim)
    const Scalar *norm_bias;    // (dim)
    const Scalar *query;        // (query, dim) the boundary at each query's source
    const Scalar *zero;         // (dim) the boundary everywhere else
    const Scalar *scale;        // (node) s_v of PNA
};

template <class Scalar>
struct LayerGradient {
    Scalar *relation, *weight, *bias, *norm_weight, *norm_bias, *query, *zero;  // as in Layer, added to
};

template <class Scalar>
struct FusedCall {
    const RowPlan *plan;
    Graph graph;
    int64_t iteration;
    const WorkShares *shares;
    Layer<Scalar> layer;
    const Scalar *previous;  // (row of the level before, dim)
    Scalar *out;             // (row, dim)
    bool wants_zero_gradient;  // whether anyone asks for the gradient of the zero row
    // The way back only:
    const Scalar *grad_out;         // (row, dim)
    Scalar *grad_previous;          // (row of the level before, dim), zeroed by the caller
    LayerGradient<Scalar> gradient;
};

template <class Scalar>
using FusedFunction = void (*)(const FusedCall<Scalar> &);

template <class Scalar>
struct FusedKernels {
    FusedFunction<Scalar> forward[message_count][aggregate_count], backward[message_count][aggregate_count];
};

}  // namespace nbfnet
