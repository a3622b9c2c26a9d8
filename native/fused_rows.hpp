// The sparse half of a fused iteration: statistics of the messages into each row, and the way back.
#pragma once

#include "aggregate.hpp"
#include "fused_layer.hpp"
#include "message.hpp"
#include "tile.hpp"

namespace nbfnet::NBFNET_ISA {

// Where a node's representation of the iteration before stands, for the group at hand: in the group's own rows, else in
// its background's; -1 is the zero row. One table holds both, so that an edge costs one look.
class RowMap {
  public:
    RowMap(const RowPlan &plan, int64_t iteration, int64_t nodes)
        : plan(plan), level(plan.levels[iteration - 1]), rows(nodes), back(nodes) {
        for (int64_t v = 0; v < nodes; ++v) rows[v] = back[v] = -1;
    }

    void enter(int64_t group) {
        if (group == current) return;
        const int64_t background = plan.background(group);
        if (current >= 0) each_row(current, [&](int64_t, int32_t v) { rows[v] = back[v]; });
        if (current < 0 || background != plan.background(current)) {
            if (current >= 0)
                each_row(plan.background(current), [&](int64_t, int32_t v) { rows[v] = back[v] = -1; });
            each_row(background, [&](int64_t i, int32_t v) { rows[v] = back[v] = static_cast<int32_t>(i); });
        }
        each_row(group, [&](int64_t i, int32_t v) { rows[v] = static_cast<int32_t>(i); });
        current = group;
    }

    int32_t operator[](int32_t node) const { return rows[node]; }
    const int32_t *data() const { return rows.data(); }
    bool has_own_rows() const { return level.begin[current] < level.begin[current + 1]; }

  private:
    template <class Work>
    void each_row(int64_t group, const Work &work) const {
        for (int64_t i = level.begin[group]; i < level.begin[group + 1]; ++i) work(i, level.node[i]);
    }

    const RowPlan &plan;
    const Level &level;
    Buffer<int32_t> rows, back;
    int64_t current = -1;
};

// How many edges ahead of its use a row is asked for; so many rows may be read behind the last edge's.
inline constexpr int64_t fused_prefetch_distance = 12;

// The in-edges of one row: where the representations of sources and relations begin, as multiples of dim; and how many
// more there are whose message is known to be zero.
template <class Scalar>
struct InEdges {
    const int64_t *source, *relation;
    int64_t count, zeros, dim;
    const Scalar *previous, *relations, *boundary;
};

// out: (statistic, dim). ties, where they are counted: how many messages tie for each extremum, (extremum, dim).
template <class M, class A, bool CountsTies, class Scalar>
NBFNET_INLINE void gather_statistics(const InEdges<Scalar> &in, Scalar *out, [[maybe_unused]] Scalar *ties) {
    constexpr bool counts = CountsTies && A::extrema > 0;
    const int64_t dim = in.dim, part = dim / M::parts;
    each_tile<Scalar, M::parts>(part, [&]<class T>(int64_t first) __attribute__((always_inline)) {
        using V = typename T::V;
        T x, w, m;
        using Gather = std::conditional_t<counts, typename A::template CountingGather<V>, typename A::template Gather<V>>;
        Gather gather[T::Count][T::Parts];
        m.load(in.boundary + first, part);
        T::each_register([&](auto i, auto p) __attribute__((always_inline)) { gather[i][p].start(m.lanes[i][p]); });
        const Scalar *previous = in.previous + first, *relations = in.relations + first;
        for (int64_t e = 0; e < in.count; ++e) {
            T::prefetch(previous + in.source[e + fused_prefetch_distance], part);
            x.load(previous + in.source[e], part);
            w.load(relations + in.relation[e], part);
            each<T::Count>([&](auto i) __attribute__((always_inline)) {
                M::message(x.lanes[i], w.lanes[i], m.lanes[i]);
                each<T::Parts>([&](auto p) __attribute__((always_inline)) { gather[i][p].add(m.lanes[i][p]); });
            });
        }
        T::each_register([&](auto i, auto p) __attribute__((always_inline)) {
            V result[A::statistics];
            if constexpr (counts) {
                if (in.zeros > 0) gather[i][p].add(V{}, Scalar(in.zeros));
                each<A::extrema>([&](auto k) __attribute__((always_inline)) {
                    store<V>(ties + k * dim + first + T::offset(i, p, part), gather[i][p].ties[k]);
                });
            } else {
                if (in.zeros > 0) gather[i][p].add(V{});
            }
            gather[i][p].finish(Scalar(in.count + in.zeros + 1), result);
            each<A::statistics>([&](auto k) __attribute__((always_inline)) {
                store<V>(out + k * dim + first + T::offset(i, p, part), result[k]);
            });
        });
    });
}

// Where the gradients of a row's in-edges go.
template <class Scalar>
struct EdgeGradients {
    Scalar *own, *back;        // bases of (row of the level before, dim): of the query's rows, of backgrounds' rows
    int64_t first_background;  // rows from here on are backgrounds'
    Scalar *relations;         // (relation, dim)
    Scalar *boundary;          // (dim)
};

// `out` and `ties` as they were gathered.
template <class M, class A, class Scalar>
NBFNET_INLINE void spread_gradient(const InEdges<Scalar> &in, [[maybe_unused]] const Scalar *out,
                                   [[maybe_unused]] const Scalar *ties, const Scalar *grad_out,
                                   const EdgeGradients<Scalar> &to) {
    const int64_t dim = in.dim, part = dim / M::parts;
    each_tile<Scalar, M::parts>(part, [&]<class T>(int64_t first) __attribute__((always_inline)) {
        using V = typename T::V;
        T x, w, m, dm, dx, dw, boundary;
        typename A::template Spread<V> spread[T::Count][T::Parts];
        const Scalar messages = Scalar(in.count + in.zeros + 1);
        boundary.load(in.boundary + first, part);
        dx.load(to.boundary + first, part);
        T::each_register([&](auto i, auto p) __attribute__((always_inline)) {
            const int64_t at = first + T::offset(i, p, part);
            V g[A::statistics];
            each<A::statistics>([&](auto k) __attribute__((always_inline)) { g[k] = load<V>(grad_out + k * dim + at); });
            if constexpr (A::extrema > 0) {
                V o[A::statistics], t[A::extrema];
                each<A::statistics>([&](auto k) __attribute__((always_inline)) { o[k] = load<V>(out + k * dim + at); });
                each<A::extrema>([&](auto k) __attribute__((always_inline)) { t[k] = load<V>(ties + k * dim + at); });
                spread[i][p].start(messages, g, o, t);
            } else {
                spread[i][p].start(messages, g);
            }
            dx.lanes[i][p] += spread[i][p].gradient(boundary.lanes[i][p]);
        });
        dx.store(to.boundary + first, part);
        const Scalar *previous = in.previous + first, *relations = in.relations + first;
        // Stores might change whatever is not a variable of this loop: what it reads is copied into such.
        Scalar *const own = to.own + first, *const back = to.back + first, *const grad_relations = to.relations + first;
        const int64_t *const source = in.source, *const relation = in.relation, count = in.count;
        const int64_t first_background = to.first_background * dim;
        for (int64_t e = 0; e < count; ++e) {
            const int64_t at = source[e], later = source[e + fused_prefetch_distance];
            T::prefetch(previous + later, part);
            T::prefetch((later >= first_background ? back : own) + later, part);
            Scalar *grad_x = (at >= first_background ? back : own) + at, *grad_w = grad_relations + relation[e];
            x.load(previous + at, part);
            w.load(relations + relation[e], part);
            dx.load(grad_x, part);
            dw.load(grad_w, part);
            each<T::Count>([&](auto i) __attribute__((always_inline)) {
                M::message(x.lanes[i], w.lanes[i], m.lanes[i]);
                each<T::Parts>([&](auto p) __attribute__((always_inline)) {
                    dm.lanes[i][p] = spread[i][p].gradient(m.lanes[i][p]);
                });
                M::add_gradient(x.lanes[i], w.lanes[i], dm.lanes[i], dx.lanes[i], dw.lanes[i]);
            });
            dx.store(grad_x, part);
            dw.store(grad_w, part);
        }
    });
}

}  // namespace nbfnet::NBFNET_ISA
