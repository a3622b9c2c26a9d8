// A whole fused iteration, forward and back, over the shares of all threads; and the table of all of them for one
// instruction set: included once by each fused_iteration_ISA.cpp.
#pragma once

#include "fused_thread_gradients.hpp"
#include "fused_tile_walk.hpp"
#include "parallel.hpp"

namespace nbfnet::NBFNET_ISA {

template <class M, class A, class Scalar>
void fused_forward(const FusedCall<Scalar> &call) {
    const PackedWeights<Scalar, scalers_of<A>> weights(call.layer, A::statistics);
    const PreviousRows<Scalar> previous(call);
    const bool skips_zero_row = zero_row_is_silent<M>(call);
    const int64_t dim = call.layer.dim;
    parallel(static_cast<int>(call.shares->of_thread.size()), [&](int thread) {
        TileWalk<M, A, false, Scalar> walk(call, weights, previous.data(), skips_zero_row);
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

template <class M, class A, class Scalar>
void fused_backward(const FusedCall<Scalar> &call) {
    const int threads = static_cast<int>(call.shares->of_thread.size());
    const int64_t dim = call.layer.dim;
    const PackedWeights<Scalar, scalers_of<A>> weights(call.layer, A::statistics);
    const PreviousRows<Scalar> previous(call);
    const bool skips_zero_row = zero_row_is_silent<M>(call);
    const Level &before = call.plan->levels[call.iteration - 1];
    const int64_t first_background = before.begin[call.plan->queries];
    std::vector<WeightSums<Scalar, scalers_of<A>>> sums;
    std::vector<ThreadGradients<Scalar>> gradients;
    sums.reserve(threads);
    gradients.reserve(threads);
    for (int thread = 0; thread < threads; ++thread) {
        sums.emplace_back(weights);
        gradients.emplace_back(call, thread);
    }

    parallel(threads, [&](int thread) {
        TileWalk<M, A, true, Scalar> walk(call, weights, previous.data(), skips_zero_row);
        ThreadGradients<Scalar> &mine = gradients[thread];
        for (const Share &share : call.shares->of_thread[thread]) {
            const int64_t group = share.group, family = call.plan->family[group];
            EdgeGradients<Scalar> to{mine.rows_of(group), mine.rows_of(call.plan->background(group)), first_background,
                                     mine.relations_of(family), nullptr};
            walk.each_tile(share, [&](int64_t places) {
                auto &tile = walk.tile();
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
                    to.boundary = walk.is_source(i) ? call.gradient.query + group * dim : mine.zero_boundary();
                    spread_gradient<M, A, Scalar>(walk.in_edges(i), tile.statistics_row(i), walk.ties_row(i),
                                                  tile.grad_statistics_row(i), to);
                }
            });
        }
        walk.tile().flush(sums[thread]);
    });
    parallel(threads, [&](int part) {
        for (auto &mine : gradients) mine.add_contested(part, threads);
    });
    for (int thread = 0; thread < threads; ++thread) {
        gradients[thread].add_up();
        sums[thread].add_to(call.gradient, weights, call.layer.layer_norm);
    }
}

template <class Scalar, class M>
constexpr void add_message(FusedKernels<Scalar> &all, Message message) {
    auto add = [&]<class A>(Aggregate aggregate) {
        all.forward[static_cast<int>(message)][static_cast<int>(aggregate)] = &fused_forward<M, A, Scalar>;
        all.backward[static_cast<int>(message)][static_cast<int>(aggregate)] = &fused_backward<M, A, Scalar>;
    };
    add.template operator()<Sum>(Aggregate::sum);
    add.template operator()<Mean>(Aggregate::mean);
    add.template operator()<Max>(Aggregate::max);
    add.template operator()<Min>(Aggregate::min);
    add.template operator()<Pna>(Aggregate::pna);
}

template <class Scalar>
constexpr FusedKernels<Scalar> fused_kernels() {
    FusedKernels<Scalar> all{};
    add_message<Scalar, TransE>(all, Message::transe);
    add_message<Scalar, DistMult>(all, Message::distmult);
    add_message<Scalar, RotatE>(all, Message::rotate);
    return all;
}

// Made by the compiler, never by code that runs when the module is loaded: this machine may not have the instructions.
extern const FusedKernels<float> fused_float;
extern const FusedKernels<double> fused_double;
constinit const FusedKernels<float> fused_float = fused_kernels<float>();
constinit const FusedKernels<double> fused_double = fused_kernels<double>();

}  // namespace nbfnet::NBFNET_ISA
