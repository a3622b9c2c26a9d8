// One Bellman-Ford iteration of the network as a single call:
//
//     a_v     = AGGREGATE({MESSAGE(h^(t-1)_x, w_r) : edge (x, r, v)} + {h^(0)_v})
//     h^(t)_v = shortcut h^(t-1)_v + ReLU(LayerNorm(W [h^(t-1)_v, a_v] + b))
//
// for every row of a level of a RowPlan. A tile of rows gets its statistics, its projection, LayerNorm, activation and
// shortcut while it is in cache; the backward pass computes the statistics again instead of storing them.
#pragma once

#include <cstdint>

#include "plan/row_plan.hpp"
#include "plan/work_shares.hpp"

namespace nbfnet {

enum class Message : int { transe, distmult, rotate };
enum class Aggregate : int { sum, mean, max, pna };
inline constexpr int message_count = 3, aggregate_count = 4;

template <class Scalar>
struct Layer {
    Message message;
    Aggregate aggregate;
    bool layer_norm, shortcut;
    int64_t dim, relations;
    const Scalar *relation;     // (family, relation, dim) edge representations
    const Scalar *weight;       // (dim, dim + features); features are (dim), or with PNA (dim, statistic, scaler)
    const Scalar *bias;         // (dim)
    const Scalar *norm_weight;  // (dim)
    const Scalar *norm_bias;    // (dim)
    const Scalar *query;        // (query, dim) the boundary at each query's source
    const Scalar *zero;         // (dim) the boundary everywhere else
    const Scalar *scale;        // (node) s_v of PNA
    const Scalar *edge_weight;  // (edge) multiplies each message, or null: no weights
};

template <class Scalar>
struct LayerGradient {
    Scalar *relation, *weight, *bias, *norm_weight, *norm_bias, *query, *zero, *edge_weight;  // as in Layer, added to
};

template <class Scalar>
struct FusedCall {
    const RowPlan *plan;
    Graph graph;
    int64_t iteration;
    const WorkShares *shares;
    Layer<Scalar> layer;
    const Scalar *previous;    // (row of the level before, dim)
    Scalar *out;               // (row, dim)
    bool wants_zero_gradient;  // whether anyone asks for the gradient of the zero row
    // The backward pass only:
    const Scalar *grad_out;  // (row, dim)
    Scalar *grad_previous;   // (row of the level before, dim), with any content
    LayerGradient<Scalar> gradient;
};

// The kernels of each instruction set. Double precision is for checking: it has the baseline's only.
namespace baseline {
void fused_forward(const FusedCall<float> &call);
void fused_forward(const FusedCall<double> &call);
void fused_backward(const FusedCall<float> &call);
void fused_backward(const FusedCall<double> &call);
}  // namespace baseline
#if defined(__x86_64__)
namespace avx2 {
void fused_forward(const FusedCall<float> &call);
void fused_backward(const FusedCall<float> &call);
}  // namespace avx2
namespace avx512 {
void fused_forward(const FusedCall<float> &call);
void fused_backward(const FusedCall<float> &call);
}  // namespace avx512
#endif

}  // namespace nbfnet
