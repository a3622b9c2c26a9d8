// Backward pass over a range of rows of one query: every message is computed again, and handed its share.
//
// Its statistics are gathered again as well: where rows are short, reading them from memory would take longer.
#pragma once

#include "relational_spmm_forward.hpp"

namespace nbfnet::NBFNET_ISA {

template <class M, class A, bool Weighted, class T>
void backward_tile(const BackwardRows<typename T::Scalar> &p, int64_t first) {
    using Scalar = typename T::Scalar;
    using V = typename T::V;
    const int64_t dim = p.dim, stride = dim / M::parts;
    // Copies: the compiler cannot know that what is stored below leaves the pointers in `p` alone.
    const int64_t *indptr = p.edges.indptr;
    const int32_t *edge_source = p.edges.source, *edge_relation = p.edges.relation;
    [[maybe_unused]] const Scalar *edge_weight = p.edges.weight;
    [[maybe_unused]] Scalar *grad_weight = p.grad_weight;
    const Scalar *source = p.source + first, *relation = p.relation + first;
    Scalar *grad_source = p.grad_source + first, *grad_relation = p.grad_relation + first;
    const int64_t last_edge = indptr[p.row_end] - 1;
    for (int64_t row = p.row_begin; row < p.row_end; ++row) {
        const int64_t begin = indptr[row], end = indptr[row + 1];
        T x, w, plain, m, dm, dx, dw, boundary;
        boundary.load(p.boundary + row * dim + first, stride);
        const auto send_message = [&](int64_t edge) __attribute__((always_inline)) {
            x.load(source + edge_source[edge] * dim, stride);
            w.load(relation + edge_relation[edge] * dim, stride);
            each<T::Count>([&](auto i) __attribute__((always_inline)) {
                M::message(x.lanes[i], w.lanes[i], plain.lanes[i]);
            });
            m = plain;
            if constexpr (Weighted) {
                T::each_register([&](auto i, auto part) __attribute__((always_inline)) {
                    m.lanes[i][part] = plain.lanes[i][part] * edge_weight[edge];
                });
            }
        };

        typename A::template CountingGather<V> gather[T::Count][T::Parts];
        if constexpr (A::extrema > 0) {
            T::each_register([&](auto i, auto part) __attribute__((always_inline)) {
                gather[i][part].start(boundary.lanes[i][part]);
            });
            for (int64_t edge = begin; edge < end; ++edge) {
                const int64_t later = edge + spmm_prefetch_distance;
                T::prefetch(source + edge_source[later < last_edge ? later : last_edge] * dim, stride);
                send_message(edge);
                T::each_register([&](auto i, auto part) __attribute__((always_inline)) {
                    gather[i][part].add(m.lanes[i][part]);
                });
            }
        }
        typename A::template Spread<V> spread[T::Count][T::Parts];
        const Scalar messages = static_cast<Scalar>(end - begin + 1);
        const Scalar *grad_out = p.grad_out + row * A::statistics * dim + first;
        T::each_register([&](auto i, auto part) __attribute__((always_inline)) {
            V row_grad[A::statistics], row_out[A::statistics];
            each<A::statistics>([&](auto k) __attribute__((always_inline)) {
                row_grad[k] = load<V>(grad_out + k * dim + T::offset(i, part, stride));
            });
            if constexpr (A::extrema > 0) {
                gather[i][part].finish(messages, row_out);
                spread[i][part].start(messages, row_grad, row_out, gather[i][part].ties);
            } else {
                spread[i][part].start(messages, row_grad);
            }
            dm.lanes[i][part] = spread[i][part].gradient(boundary.lanes[i][part]);
        });
        if (p.past_caches) {
            dm.store_past_caches(p.grad_boundary + row * dim + first, stride);
        } else {
            dm.store(p.grad_boundary + row * dim + first, stride);
        }
        for (int64_t edge = begin; edge < end; ++edge) {
            const int64_t later = edge + spmm_prefetch_distance;
            const int64_t later_source = edge_source[later < last_edge ? later : last_edge] * dim;
            if constexpr (A::extrema == 0) T::prefetch(source + later_source, stride);
            T::prefetch(grad_source + later_source, stride);
            send_message(edge);
            T::each_register([&](auto i, auto part) __attribute__((always_inline)) {
                dm.lanes[i][part] = spread[i][part].gradient(m.lanes[i][part]);
            });
            if constexpr (Weighted) {
                if (grad_weight) {
                    V products{};
                    T::each_register([&](auto i, auto part) __attribute__((always_inline)) {
                        products = fused(dm.lanes[i][part], plain.lanes[i][part], products);
                    });
                    grad_weight[edge] += sum_of_lanes(products);
                }
                T::each_register([&](auto i, auto part) __attribute__((always_inline)) {
                    dm.lanes[i][part] = dm.lanes[i][part] * edge_weight[edge];
                });
            }
            Scalar *grad_x = grad_source + edge_source[edge] * dim;
            Scalar *grad_w = grad_relation + edge_relation[edge] * dim;
            dx.load(grad_x, stride);
            dw.load(grad_w, stride);
            each<T::Count>([&](auto i) __attribute__((always_inline)) {
                M::add_gradient(x.lanes[i], w.lanes[i], dm.lanes[i], dx.lanes[i], dw.lanes[i]);
            });
            dx.store(grad_x, stride);
            dw.store(grad_w, stride);
        }
    }
}

template <class Scalar, class M, class A, bool Weighted>
void backward_rows(const BackwardRows<Scalar> &p) {
    each_tile<Scalar, M::parts>(p.dim / M::parts, [&]<class T>(int64_t first) {
        backward_tile<M, A, Weighted, T>(p, first);
    });
    settle_stores();
}

}  // namespace nbfnet::NBFNET_ISA
