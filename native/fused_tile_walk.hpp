// One thread's way through the rows of a fused iteration, a tile at a time.
#pragma once

#include "fused_rows.hpp"

namespace nbfnet::NBFNET_ISA {

template <class A>
inline constexpr int scalers_of = A::statistics == 4 ? 3 : 1;

// The rows of the iteration before. Before the first iteration only sources have rows of their own: they are copied
// behind the zero row, which every other node has, so that row -1 can be read like any other.
template <class Scalar>
class PreviousRows {
  public:
    explicit PreviousRows(const FusedCall<Scalar> &call) : rows(call.previous) {
        if (call.iteration > 1) return;
        const int64_t dim = call.layer.dim, count = call.plan->levels[0].rows();
        copy.resize((count + 1) * dim);
        std::memcpy(copy.data(), call.layer.zero, dim * sizeof(Scalar));
        if (count > 0) std::memcpy(copy.data() + dim, call.previous, count * dim * sizeof(Scalar));
        rows = copy.data() + dim;
    }
    const Scalar *data() const { return rows; }

  private:
    Buffer<Scalar> copy;
    const Scalar *rows;
};

// Whether a message from the zero row is zero, and no gradient of it is asked for: then it need not be computed. Before
// the first iteration almost every node has the zero row.
template <class M, class Scalar>
bool zero_row_is_silent(const FusedCall<Scalar> &call) {
    const Layer<Scalar> &l = call.layer;
    if (!M::zero_stays_zero || call.iteration > 1 || call.wants_zero_gradient) return false;
    bool silent = true;
    for (int64_t i = 0; i < l.dim; ++i) silent &= l.zero[i] == 0;
    // Zero times what is not finite is not a number.
    const int64_t size = call.plan->families * l.relations * l.dim;
    for (int64_t i = 0; i < size; ++i) silent &= l.relation[i] - l.relation[i] == 0;
    return silent;
}

// One thread's way through its rows, a tile of places at a time. A place stands for one row, or for several that are
// alike: rows of one degree which see nothing but zeros before the first iteration. The way back counts ties as well.
template <class M, class A, bool CountsTies, class Scalar>
class TileWalk {
  public:
    using Weights = PackedWeights<Scalar, scalers_of<A>>;

    TileWalk(const FusedCall<Scalar> &call, const Weights &weights, const Scalar *previous, bool skips_zero_row)
        : c(call), map(*call.plan, call.iteration, call.graph.nodes), layer(call.layer, weights), previous(previous),
          skips_zero_row(skips_zero_row), ties(CountsTies ? tile_rows * A::extrema * call.layer.dim : 0) {}

    // work(places) with the tile's own rows, statistics and in-edges in place
    template <class Work>
    void each_tile(const Share &share, Work &&work) {
        group = share.group;
        map.enter(group);
        for (int64_t begin = share.row_begin; begin < share.row_end; begin = row_begin[places]) {
            find_places(begin, share.row_end);
            for (int64_t i = 0; i < places; ++i) {
                std::memcpy(layer.own_row(i), previous + own_row[i] * c.layer.dim, c.layer.dim * sizeof(Scalar));
                layer.set_scale(i, c.layer.scale[node(row_begin[i])]);
                gather_statistics<M, A, CountsTies>(in_edges(i), layer.statistics_row(i), ties_row(i));
            }
            layer.project(places);
            work(places);
        }
    }

    InEdges<Scalar> in_edges(int64_t i) const {
        const int64_t dim = c.layer.dim, count = edge_begin[i + 1] - edge_begin[i];
        const int32_t v = node(row_begin[i]);
        const Scalar *relations = c.layer.relation + c.plan->family[group] * c.layer.relations * dim;
        const Scalar *boundary = is_source(i) ? c.layer.query + group * dim : c.layer.zero;
        return {edge_source.data() + edge_begin[i], edge_relation.data() + edge_begin[i], count, degree(v) - count, dim,
                previous, relations, boundary};
    }

    bool is_source(int64_t i) const { return node(row_begin[i]) == c.plan->source[group]; }
    int64_t own_row_of(int64_t i) const { return own_row[i]; }
    int64_t begin_of(int64_t i) const { return row_begin[i]; }  // place i stands for the rows from here to the next
    TileLayer<Scalar, scalers_of<A>> &tile() { return layer; }
    Scalar *ties_row(int64_t i) { return ties.data() + i * A::extrema * c.layer.dim; }

  private:
    int32_t node(int64_t row) const { return c.plan->levels[c.iteration].node[row]; }
    int64_t degree(int32_t v) const { return c.graph.indptr[v + 1] - c.graph.indptr[v]; }

    // Fills a tile with the rows from `begin` on.
    void find_places(int64_t begin, int64_t end) {
        places = 0;
        row_begin[0] = begin;
        edge_begin[0] = 0;
        bool alike = false;
        for (int64_t row = begin; row < end; ++row) {
            const int32_t v = node(row);
            if (row + rows_ahead < end) prefetch_edges(node(row + rows_ahead));
            const bool was_alike = alike && degree(v) == degree(node(row - 1));
            alike = skips_zero_row && sees_only_zeros(v);
            if (!(alike && was_alike)) {
                if (places == tile_rows) return;
                own_row[places] = map[v];
                edge_begin[places + 1] = edge_begin[places] + find_edges(v, edge_begin[places]);
                ++places;
            }
            row_begin[places] = row + 1;
        }
    }

    // Rows stand in order of their degrees, so the edges of the next are anywhere: a wait for memory each.
    void prefetch_edges(int32_t v) const {
        const int64_t first = c.graph.indptr[v], last = std::min(c.graph.indptr[v + 1], first + most_ahead);
        for (int64_t e = first; e < last; e += 64 / int64_t(sizeof(int32_t))) {
            __builtin_prefetch(c.graph.source + e);
            __builtin_prefetch(c.graph.relation + e);
        }
    }

    bool sees_only_zeros(int32_t v) const {
        if (v == c.plan->source[group]) return false;
        if (!map.has_own_rows()) return true;
        for (int64_t e = c.graph.indptr[v]; e < c.graph.indptr[v + 1]; ++e)
            if (map[c.graph.source[e]] >= 0) return false;
        return true;
    }

    // Lists the edges of a node behind those listed already; how many.
    int64_t find_edges(int32_t v, int64_t at) {
        const int64_t count = degree(v), dim = c.layer.dim;
        const int32_t *source = c.graph.source + c.graph.indptr[v], *relation = c.graph.relation + c.graph.indptr[v];
        edge_source.grow(at + count + fused_prefetch_distance, at);
        edge_relation.grow(at + count, at);
        int64_t *__restrict to = edge_source.data() + at, *__restrict to_relation = edge_relation.data() + at;
        if (!skips_zero_row) {
            multiples<true>(map.data(), source, count, dim, to);
            multiples<false>(nullptr, relation, count, dim, to_relation);
            return count;
        }
        int64_t kept = 0;
        for (int64_t e = 0; e < count; ++e) {
            to[kept] = map[source[e]] * dim;
            to_relation[kept] = relation[e] * dim;
            kept += to[kept] >= 0;
        }
        return kept;
    }

    static constexpr int64_t rows_ahead = 6, most_ahead = 64;  // edges of a row asked for; the rest follow in line

    const FusedCall<Scalar> &c;
    RowMap map;
    TileLayer<Scalar, scalers_of<A>> layer;
    const Scalar *previous;
    bool skips_zero_row;
    Buffer<Scalar> ties;  // (place, extremum, dim)
    Buffer<int64_t> edge_source, edge_relation;  // where they begin, as multiples of dim
    int64_t group = -1, places = 0;
    int64_t row_begin[tile_rows + 1], edge_begin[tile_rows + 1], own_row[tile_rows];
};

}  // namespace nbfnet::NBFNET_ISA
