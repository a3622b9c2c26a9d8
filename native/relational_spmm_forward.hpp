// Forward pass over a range of rows of one query: one pass over a row's in-edges, every statistic in registers.
#pragma once

#include "aggregate.hpp"
#include "message.hpp"
#include "relational_spmm.hpp"
#include "tile.hpp"

namespace nbfnet::NBFNET_ISA {

// How many edges before its use a source row is asked for.
inline constexpr int64_t spmm_prefetch_distance = 16;

template <class M, class A, bool Weighted, class T>
void forward_tile(const ForwardRows<typename T::Scalar> &p, int64_t first) {
    using Scalar = typename T::Scalar;
    using V = typename T::V;
    const int64_t dim = p.dim, stride = dim / M::parts;
    // Copies: the compiler cannot know that what is stored below leaves the pointers in `p` alone.
    const int64_t *indptr = p.edges.indptr;
    const int32_t *edge_source = p.edges.source, *edge_relation = p.edges.relation;
    [[maybe_unused]] const Scalar *edge_weight = p.edges.weight;
    const Scalar *source = p.source + first, *relation = p.relation + first;
    const int64_t last_edge = indptr[p.row_end] - 1;
    for (int64_t row = p.row_begin; row < p.row_end; ++row) {
        const int64_t begin = indptr[row], end = indptr[row + 1];
        T x, w, m;
        typename A::template Gather<V> gather[T::Count][T::Parts];
        m.load(p.boundary + row * dim + first, stride);
        T::each_register([&](auto i, auto part) __attribute__((always_inline)) {
            gather[i][part].start(m.lanes[i][part]);
        });
        for (int64_t edge = begin; edge < end; ++edge) {
            const int64_t later = edge + spmm_prefetch_distance;
            T::prefetch(source + edge_source[later < last_edge ? later : last_edge] * dim, stride);
            x.load(source + edge_source[edge] * dim, stride);
            w.load(relation + edge_relation[edge] * dim, stride);
            each<T::Count>([&](auto i) __attribute__((always_inline)) {
                M::message(x.lanes[i], w.lanes[i], m.lanes[i]);
            });
            T::each_register([&](auto i, auto part) __attribute__((always_inline)) {
                if constexpr (Weighted) m.lanes[i][part] = m.lanes[i][part] * edge_weight[edge];
                gather[i][part].add(m.lanes[i][part]);
            });
        }
        T result[A::statistics];
        T::each_register([&](auto i, auto part) __attribute__((always_inline)) {
            V finished[A::statistics];
            gather[i][part].finish(static_cast<Scalar>(end - begin + 1), finished);
            each<A::statistics>([&](auto k) __attribute__((always_inline)) {
                result[k].lanes[i][part] = finished[k];
            });
        });
        Scalar *out = p.out + row * A::statistics * dim + first;
        each<A::statistics>([&](auto k) __attribute__((always_inline)) {
            if (p.past_caches) {
                result[k].store_past_caches(out + k * dim, stride);
            } else {
                result[k].store(out + k * dim, stride);
            }
        });
    }
}

template <class Scalar, class M, class A, bool Weighted>
void forward_rows(const ForwardRows<Scalar> &p) {
    each_tile<Scalar, M::parts>(p.dim / M::parts, [&]<class T>(int64_t first) {
        forward_tile<M, A, Weighted, T>(p, first);
    });
    settle_stores();
}

}  // namespace nbfnet::NBFNET_ISA
