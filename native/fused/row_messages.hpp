// The sparse half of a fused iteration: statistics of the messages into the rows of a tile, and their backward pass.
#pragma once

#include <type_traits>

#include "fused/aggregate.hpp"
#include "fused/iteration.hpp"
#include "fused/message.hpp"
#include "simd/tile.hpp"

namespace nbfnet::NBFNET_ISA {

// How many edges ahead of its use a representation is prefetched; so many entries may be read behind the last edge.
inline constexpr int64_t prefetch_distance = 12;

// The in-edges of the rows of a tile.
template <class Scalar>
struct TileEdges {
    int64_t rows, dim;
    const int64_t *count;            // (row) how many edges
    const int32_t *const *source;    // (row) of each edge, the row of the level before that it starts from
    const int32_t *const *relation;  // (row) of each edge
    const int64_t *zeros;            // (row) how many more messages there are, known to be zero
    const Scalar *const *boundary;   // (row)
    const Scalar *const *weight;     // (row) the weights of its edges, or null: no weights
    const Scalar *previous, *relations;
};

// Statistics of each row, (row, statistic, dim), a stride apart; and how many messages tie for each extremum,
// (row, extremum, dim).
template <class Scalar>
struct TileStatistics {
    Scalar *values;
    int64_t stride;
    Scalar *ties;
};

// Where the gradients of a tile's in-edges go.
template <class Scalar>
struct EdgeGradients {
    Scalar *own, *back;        // bases of (row of the level before, dim): of the query's rows, of backgrounds' rows
    int64_t first_background;  // rows from here on are backgrounds'
    Scalar *relations;         // (relation, dim)
    Scalar *const *boundary;   // (row)
    Scalar *const *weight;     // (row), as in TileEdges
};

template <class M, class A, bool CountsTies, bool Weighted, class T>
NBFNET_INLINE void gather_row(const TileEdges<typename T::Scalar> &in, int64_t row,
                              const TileStatistics<typename T::Scalar> &out, const TileDims &d) {
    using Scalar = typename T::Scalar;
    using V = typename T::V;
    constexpr bool counts = CountsTies && A::extrema > 0;
    using Gather = std::conditional_t<counts, typename A::template CountingGather<V>, typename A::template Gather<V>>;
    Gather gather[T::Count][T::Parts];
    T x, w, m;
    m.load(in.boundary[row] + d.first, d);
    T::each_register([&](auto i, auto p) __attribute__((always_inline)) { gather[i][p].start(m.lanes[i][p]); });
    const Scalar *const previous = in.previous + d.first, *const relations = in.relations + d.first;
    const int64_t dim = in.dim, count = in.count[row], zeros = in.zeros[row];
    const int32_t *const source = in.source[row], *const relation = in.relation[row];
    [[maybe_unused]] const Scalar *const weight = Weighted ? in.weight[row] : nullptr;
    for (int64_t e = 0; e < count; ++e) {
        T::prefetch(previous + source[e + prefetch_distance] * dim, d);
        x.load(previous + source[e] * dim, d);
        w.load(relations + relation[e] * dim, d);
        each<T::Count>([&](auto i) __attribute__((always_inline)) {
            M::message(x.lanes[i], w.lanes[i], m.lanes[i]);
            each<T::Parts>([&](auto p) __attribute__((always_inline)) {
                if constexpr (Weighted) m.lanes[i][p] = m.lanes[i][p] * weight[e];
                gather[i][p].add(m.lanes[i][p]);
            });
        });
    }
    Scalar *const values = out.values + row * out.stride + d.first;
    T::each_register([&](auto i, auto p) __attribute__((always_inline)) {
        V result[A::statistics];
        if constexpr (counts) {
            if (zeros > 0) gather[i][p].add(V{}, Scalar(zeros));
            Scalar *const ties = out.ties + row * A::extrema * in.dim + d.first;
            each<A::extrema>([&](auto k) __attribute__((always_inline)) {
                T::store_register(ties + k * in.dim, gather[i][p].ties[k], d, i, p);
            });
        } else {
            if (zeros > 0) gather[i][p].add(V{});
        }
        gather[i][p].finish(Scalar(count + zeros + 1), result);
        each<A::statistics>(
            [&](auto k) __attribute__((always_inline)) { T::store_register(values + k * in.dim, result[k], d, i, p); });
    });
}

// `out` as it was gathered, `grad` (row, statistic, dim) at the same stride.
template <class M, class A, bool Weighted, class T>
NBFNET_INLINE void spread_row(const TileEdges<typename T::Scalar> &in, int64_t row,
                              const TileStatistics<typename T::Scalar> &out, const typename T::Scalar *grad,
                              const EdgeGradients<typename T::Scalar> &to, const TileDims &d) {
    using Scalar = typename T::Scalar;
    using V = typename T::V;
    T x, w, plain, m, dm, dx, dw;
    typename A::template Spread<V> spread[T::Count][T::Parts];
    // Stores might change whatever is not a variable of this function: what the loop reads is copied into such.
    const int64_t dim = in.dim, count = in.count[row];
    const Scalar messages = Scalar(count + in.zeros[row] + 1);
    m.load(in.boundary[row] + d.first, d);
    dx.load(to.boundary[row] + d.first, d);
    T::each_register([&](auto i, auto p) __attribute__((always_inline)) {
        const auto load = [&](const Scalar *from, int k) __attribute__((always_inline)) {
            return T::load_register(from + k * dim + d.first, d, i, p);
        };
        V g[A::statistics];
        each<A::statistics>([&](auto k) __attribute__((always_inline)) { g[k] = load(grad + row * out.stride, k); });
        if constexpr (A::extrema > 0) {
            V o[A::statistics], t[A::extrema];
            each<A::statistics>([&](auto k)
                                    __attribute__((always_inline)) { o[k] = load(out.values + row * out.stride, k); });
            each<A::extrema>([&](auto k) __attribute__((always_inline)) {
                // At least one: lanes beyond the row must not divide by zero.
                t[k] = maximum(load(out.ties + row * A::extrema * dim, k), V{} + Scalar(1));
            });
            spread[i][p].start(messages, g, o, t);
        } else {
            spread[i][p].start(messages, g);
        }
        dx.lanes[i][p] += spread[i][p].gradient(m.lanes[i][p]);
    });
    dx.store(to.boundary[row] + d.first, d);
    const Scalar *const previous = in.previous + d.first, *const relations = in.relations + d.first;
    Scalar *const own = to.own + d.first, *const back = to.back + d.first,
                  *const grad_relations = to.relations + d.first;
    const int32_t *const source = in.source[row], *const relation = in.relation[row];
    const int64_t first_background = to.first_background * dim;
    [[maybe_unused]] const Scalar *const weight = Weighted ? in.weight[row] : nullptr;
    [[maybe_unused]] Scalar *const grad_weight = Weighted ? to.weight[row] : nullptr;
    for (int64_t e = 0; e < count; ++e) {
        const int64_t at = source[e] * dim, later = source[e + prefetch_distance] * dim;
        T::prefetch(previous + later, d);
        T::prefetch((later >= first_background ? back : own) + later, d);
        Scalar *grad_x = (at >= first_background ? back : own) + at, *grad_w = grad_relations + relation[e] * dim;
        x.load(previous + at, d);
        w.load(relations + relation[e] * dim, d);
        dx.load(grad_x, d);
        dw.load(grad_w, d);
        each<T::Count>([&](auto i) __attribute__((always_inline)) {
            M::message(x.lanes[i], w.lanes[i], m.lanes[i]);
            each<T::Parts>([&](auto p) __attribute__((always_inline)) {
                if constexpr (Weighted) {
                    plain.lanes[i][p] = m.lanes[i][p];
                    m.lanes[i][p] = m.lanes[i][p] * weight[e];
                }
                dm.lanes[i][p] = spread[i][p].gradient(m.lanes[i][p]);
            });
        });
        if constexpr (Weighted) {
            V products{};
            T::each_register([&](auto i, auto p) __attribute__((always_inline)) {
                products = fused(dm.lanes[i][p], plain.lanes[i][p], products);
                dm.lanes[i][p] = dm.lanes[i][p] * weight[e];
            });
            grad_weight[e] += sum_of_lanes(products);
        }
        each<T::Count>([&](auto i) __attribute__((always_inline)) {
            M::add_gradient(x.lanes[i], w.lanes[i], dm.lanes[i], dx.lanes[i], dw.lanes[i]);
        });
        dx.store(grad_x, d);
        dw.store(grad_w, d);
    }
}

template <class M, class A, bool CountsTies, class Scalar>
void gather_tile(const TileEdges<Scalar> &in, const TileStatistics<Scalar> &out) {
    for (int64_t row = 0; row < in.rows; ++row) {
        if (in.weight)
            each_register_tile<Scalar, M::parts>(in.dim / M::parts, [&]<class T>(const TileDims &d) {
                gather_row<M, A, CountsTies, true, T>(in, row, out, d);
            });
        else
            each_tile<Scalar, M::parts>(in.dim / M::parts, [&]<class T>(const TileDims &d) {
                gather_row<M, A, CountsTies, false, T>(in, row, out, d);
            });
    }
}

template <class M, class A, class Scalar>
void spread_tile(const TileEdges<Scalar> &in, const TileStatistics<Scalar> &out, const Scalar *grad,
                 const EdgeGradients<Scalar> &to) {
    for (int64_t row = 0; row < in.rows; ++row) {
        if (in.weight)
            each_register_tile<Scalar, M::parts>(in.dim / M::parts, [&]<class T>(const TileDims &d) {
                spread_row<M, A, true, T>(in, row, out, grad, to, d);
            });
        else
            each_tile<Scalar, M::parts>(in.dim / M::parts, [&]<class T>(const TileDims &d) {
                spread_row<M, A, false, T>(in, row, out, grad, to, d);
            });
    }
}

// The functions of one message with one aggregate.
template <class Scalar>
struct RowMessages {
    int statistics, extrema, scalers;
    bool zero_stays_zero;  // a message from a zero row is zero
    void (*gather)(const TileEdges<Scalar> &, const TileStatistics<Scalar> &);
    void (*gather_with_ties)(const TileEdges<Scalar> &, const TileStatistics<Scalar> &);
    void (*spread)(const TileEdges<Scalar> &, const TileStatistics<Scalar> &, const Scalar *,
                   const EdgeGradients<Scalar> &);
};

template <class Scalar, class M, class A>
constexpr RowMessages<Scalar> row_messages() {
    return {A::statistics,
            A::extrema,
            A::scalers,
            M::zero_stays_zero,
            &gather_tile<M, A, false, Scalar>,
            &gather_tile<M, A, A::extrema != 0, Scalar>,
            &spread_tile<M, A, Scalar>};
}

template <class Scalar>
const RowMessages<Scalar> &row_messages(Message message, Aggregate aggregate) {
    // Made by the compiler, in the order of the two enumerations.
    static constexpr RowMessages<Scalar> all[message_count][aggregate_count] = {
        {row_messages<Scalar, TransE, Sum>(), row_messages<Scalar, TransE, Mean>(), row_messages<Scalar, TransE, Max>(),
         row_messages<Scalar, TransE, Pna>()},
        {row_messages<Scalar, DistMult, Sum>(), row_messages<Scalar, DistMult, Mean>(),
         row_messages<Scalar, DistMult, Max>(), row_messages<Scalar, DistMult, Pna>()},
        {row_messages<Scalar, RotatE, Sum>(), row_messages<Scalar, RotatE, Mean>(), row_messages<Scalar, RotatE, Max>(),
         row_messages<Scalar, RotatE, Pna>()}};
    return all[static_cast<int>(message)][static_cast<int>(aggregate)];
}

}  // namespace nbfnet::NBFNET_ISA
