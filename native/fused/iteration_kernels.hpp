// A whole fused iteration, forward and backward, over the shares of all threads: included once by each
// iteration_ISA.cpp.
#pragma once

#include <algorithm>
#include <vector>

#include "fused/thread_gradients.hpp"
#include "fused/tile_walk.hpp"
#include "memory/parallel.hpp"

namespace nbfnet::NBFNET_ISA {

template <class Scalar>
void forward(const FusedCall<Scalar> &call) {
    const SharedInputs<Scalar> shared(call);
    const int64_t dim = call.layer.dim;
    parallel(static_cast<int>(call.shares->of_thread.size()), [&](int thread) {
        TileWalk<Scalar> walk(call, shared, false);
        for (const Share &share : call.shares->of_thread[thread])
            walk.each_tile(share, [&](int64_t places) {
                for (int64_t i = 0; i < places; ++i) {
                    Scalar *out = call.out + walk.begin_of(i) * dim;
                    walk.tile().finish(i, out);
                    for (int64_t row = walk.begin_of(i) + 1; row < walk.begin_of(i + 1); ++row)
                        std::memcpy(call.out + row * dim, out, dim * sizeof(Scalar));
                }
            });
    });
}

template <class Scalar>
void backward(const FusedCall<Scalar> &call) {
    const int threads = static_cast<int>(call.shares->of_thread.size());
    const int64_t dim = call.layer.dim;
    const SharedInputs<Scalar> shared(call);
    const Level &level = call.plan->levels[call.iteration], &before = call.plan->levels[call.iteration - 1];
    const int64_t first_background = before.begin[call.plan->queries];
    // A query's rows that one thread alone adds to: it clears them when it comes to them, and has them in its cache.
    const auto is_owned = [&](int64_t group) {
        return group < call.plan->queries && !call.shares->contested[group] && level.rows_of(group) > 0;
    };
    const auto clear = [&](int64_t group, int64_t part, int64_t parts) {
        const int64_t begin = before.begin[group] * dim, size = before.rows_of(group) * dim;
        std::fill(call.grad_previous + begin + size * part / parts,
                  call.grad_previous + begin + size * (part + 1) / parts, Scalar(0));
    };
    std::vector<WeightSums<Scalar>> sums;
    std::vector<ThreadGradients<Scalar>> gradients;
    sums.reserve(threads);
    gradients.reserve(threads);
    for (int thread = 0; thread < threads; ++thread) {
        sums.emplace_back(shared.weights);
        gradients.emplace_back(call, thread);
    }

    parallel(threads, [&](int thread) {
        for (int64_t group = 0; group < call.plan->groups(); ++group)
            if (!is_owned(group)) clear(group, thread, threads);
    });
    parallel(threads, [&](int thread) {
        TileWalk<Scalar> walk(call, shared, true);
        TileLayer<Scalar> &tile = walk.tile();
        ThreadGradients<Scalar> &mine = gradients[thread];
        Scalar *boundary[tile_rows], *edge_weight[tile_rows];
        for (const Share &share : call.shares->of_thread[thread]) {
            const int64_t group = share.group;
            if (is_owned(group)) clear(group, 0, 1);
            const EdgeGradients<Scalar> to{mine.rows_of(group),
                                           mine.rows_of(call.plan->background(group)),
                                           first_background,
                                           mine.relations_of(call.plan->family[group]),
                                           boundary,
                                           edge_weight};
            walk.each_tile(share, [&](int64_t places) {
                // The gradient of a place is the sum over the rows that it stands for.
                for (int64_t i = 0; i < places; ++i) {
                    const Scalar *from = call.grad_out + walk.begin_of(i) * dim;
                    Scalar *grad = tile.grad_row(i);
                    std::memcpy(grad, from, dim * sizeof(Scalar));
                    for (int64_t more = dim; more < (walk.begin_of(i + 1) - walk.begin_of(i)) * dim; more += dim)
                        for (int64_t o = 0; o < dim; ++o) grad[o] += from[more + o];
                }
                tile.backward(places, sums[thread]);
                for (int64_t i = 0; i < places; ++i) {
                    const int64_t own = walk.own_row_of(i);
                    Scalar *grad_own = (own >= first_background ? to.back : to.own) + own * dim;
                    for (int64_t o = 0; o < dim; ++o) grad_own[o] += tile.grad_own_row(i)[o];
                    boundary[i] = walk.is_source(i) ? call.gradient.query + group * dim : mine.zero_boundary();
                    if (call.layer.edge_weight) edge_weight[i] = mine.edge_weight() + walk.first_edge(i);
                }
                walk.spread(to);
            });
        }
        tile.flush(sums[thread]);
    });
    parallel(threads, [&](int part) {
        for (auto &mine : gradients) mine.add_contested(part, threads);
    });
    for (int thread = 0; thread < threads; ++thread) {
        gradients[thread].add_up();
        sums[thread].add_to(call.gradient, shared.weights, call.layer.layer_norm);
    }
}

void fused_forward(const FusedCall<float> &call) { forward(call); }
void fused_backward(const FusedCall<float> &call) { backward(call); }

}  // namespace nbfnet::NBFNET_ISA
