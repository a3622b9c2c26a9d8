// One thread's way through the rows of a fused iteration, a tile at a time.
#pragma once

#include <algorithm>

#include "fused/row_messages.hpp"
#include "fused/tile_layer.hpp"

namespace nbfnet::NBFNET_ISA {

// Where a node's representation of the iteration before stands, for the group at hand: in the group's own rows, else in
// its background's; -1 is the zero row. One table holds both, so that an edge costs one look.
class RowMap {
  public:
    RowMap(const RowPlan &plan, int64_t iteration, int64_t nodes)
        : plan_(plan), level_(plan.levels[iteration - 1]), rows_(nodes), back_(nodes) {
        for (int64_t v = 0; v < nodes; ++v) rows_[v] = back_[v] = -1;
    }

    void enter(int64_t group) {
        if (group == current_) return;
        const int64_t background = plan_.background(group);
        if (current_ >= 0) each_row(current_, [&](int64_t, int32_t v) { rows_[v] = back_[v]; });
        if (current_ < 0 || background != plan_.background(current_)) {
            if (current_ >= 0)
                each_row(plan_.background(current_), [&](int64_t, int32_t v) { rows_[v] = back_[v] = -1; });
            each_row(background, [&](int64_t i, int32_t v) { rows_[v] = back_[v] = static_cast<int32_t>(i); });
        }
        each_row(group, [&](int64_t i, int32_t v) { rows_[v] = static_cast<int32_t>(i); });
        current_ = group;
    }

    int32_t operator[](int32_t node) const { return rows_[node]; }
    const int32_t *data() const { return rows_.data(); }
    bool has_own_rows() const { return level_.begin[current_] < level_.begin[current_ + 1]; }

  private:
    template <class Work>
    void each_row(int64_t group, const Work &work) const {
        for (int64_t i = level_.begin[group]; i < level_.begin[group + 1]; ++i) work(i, level_.node[i]);
    }

    const RowPlan &plan_;
    const Level &level_;
    AlignedArray<int32_t> rows_, back_;
    int64_t current_ = -1;
};

// The rows of the iteration before. Before the first iteration only sources have rows of their own: they are copied
// behind the zero row, which every other node has, so that row -1 can be read like any other.
template <class Scalar>
class PreviousRows {
  public:
    explicit PreviousRows(const FusedCall<Scalar> &call) : rows_(call.previous) {
        if (call.iteration > 1) return;
        const int64_t dim = call.layer.dim, count = call.plan->levels[0].rows();
        copy_.resize((count + 1) * dim);
        std::memcpy(copy_.data(), call.layer.zero, dim * sizeof(Scalar));
        if (count > 0) std::memcpy(copy_.data() + dim, call.previous, count * dim * sizeof(Scalar));
        rows_ = copy_.data() + dim;
    }
    const Scalar *data() const { return rows_; }

  private:
    AlignedArray<Scalar> copy_;
    const Scalar *rows_;
};

// Whether a message from the zero row is zero, and no gradient of it is asked for: then it need not be computed. Before
// the first iteration almost every node has the zero row.
template <class Scalar>
bool zero_row_is_silent(const FusedCall<Scalar> &call, bool zero_stays_zero) {
    const Layer<Scalar> &l = call.layer;
    if (!zero_stays_zero || call.iteration > 1 || call.wants_zero_gradient || l.edge_weight) return false;
    bool silent = true;
    for (int64_t i = 0; i < l.dim; ++i) silent &= l.zero[i] == 0;
    // Zero times what is not finite is not a number.
    const int64_t size = call.plan->families * l.relations * l.dim;
    for (int64_t i = 0; i < size; ++i) silent &= l.relation[i] - l.relation[i] == 0;
    return silent;
}

// What all threads share of a call.
template <class Scalar>
struct SharedInputs {
    const RowMessages<Scalar> &messages;
    const PackedWeights<Scalar> weights;
    const PreviousRows<Scalar> previous;
    const bool skips_zero_row;

    explicit SharedInputs(const FusedCall<Scalar> &call)
        : messages(row_messages<Scalar>(call.layer.message, call.layer.aggregate)),
          weights(call.layer, messages.statistics, messages.scalers),
          previous(call),
          skips_zero_row(zero_row_is_silent(call, messages.zero_stays_zero)) {}
};

// One thread's way through its rows, a tile of places at a time. A place stands for one row, or for several that are
// alike: rows of one degree which see nothing but zeros before the first iteration. The backward pass counts ties.
template <class Scalar>
class TileWalk {
  public:
    TileWalk(const FusedCall<Scalar> &call, const SharedInputs<Scalar> &shared, bool counts_ties)
        : c_(call),
          shared_(shared),
          gather_(counts_ties ? shared.messages.gather_with_ties : shared.messages.gather),
          previous_(shared.previous.data()),
          map_(*call.plan, call.iteration, call.graph.nodes),
          layer_(call.layer, shared.weights),
          ties_(counts_ties ? tile_rows * shared.messages.extrema * call.layer.dim : 0) {}

    // work(places) with the tile's own rows, statistics and in-edges in place
    template <class Work>
    void each_tile(const Share &share, Work &&work) {
        group_ = share.group;
        map_.enter(group_);
        for (int64_t begin = share.row_begin; begin < share.row_end; begin = row_begin_[places_]) {
            find_places(begin, share.row_end);
            find_relations();
            for (int64_t i = 0; i < places_; ++i) {
                std::memcpy(layer_.own_row(i), previous_ + own_row_[i] * c_.layer.dim, c_.layer.dim * sizeof(Scalar));
                layer_.set_scale(i, c_.layer.scale[node(row_begin_[i])]);
            }
            gather_(edges(), statistics());
            layer_.project(places_);
            work(places_);
        }
    }

    // Hands the gradient of the statistics on to the edges, for the tile at hand.
    void spread(const EdgeGradients<Scalar> &to) {
        shared_.messages.spread(edges(), statistics(), layer_.grad_statistics_row(0), to);
    }

    bool is_source(int64_t i) const { return node(row_begin_[i]) == c_.plan->source[group_]; }
    int64_t own_row_of(int64_t i) const { return own_row_[i]; }
    int64_t begin_of(int64_t i) const { return row_begin_[i]; }  // place i stands for the rows from here to the next
    int64_t first_edge(int64_t i) const { return c_.graph.indptr[node(row_begin_[i])]; }
    TileLayer<Scalar> &tile() { return layer_; }

  private:
    int32_t node(int64_t row) const { return c_.plan->levels[c_.iteration].node[row]; }
    int64_t degree(int32_t v) const { return c_.graph.indptr[v + 1] - c_.graph.indptr[v]; }

    TileEdges<Scalar> edges() const {
        const Scalar *relations = c_.layer.relation + c_.plan->family[group_] * c_.layer.relations * c_.layer.dim;
        return {places_,   c_.layer.dim, edge_begin_, edge_source_.data(),
                relation_, zeros_,       boundary_,   c_.layer.edge_weight ? weight_ : nullptr,
                previous_, relations};
    }
    TileStatistics<Scalar> statistics() {
        return {layer_.statistics_row(0), shared_.weights.width_padded, ties_.data()};
    }

    // Fills a tile with the rows from `begin` on.
    void find_places(int64_t begin, int64_t end) {
        places_ = 0;
        row_begin_[0] = begin;
        edge_begin_[0] = 0;
        bool alike = false;
        for (int64_t row = begin; row < end; ++row) {
            const int32_t v = node(row);
            if (row + rows_ahead < end) prefetch_edges(node(row + rows_ahead));
            const bool was_alike = alike && degree(v) == degree(node(row - 1));
            alike = shared_.skips_zero_row && sees_only_zeros(v);
            if (!(alike && was_alike)) {
                if (places_ == tile_rows) return;
                add_place(v);
            }
            row_begin_[places_] = row + 1;
        }
    }

    void add_place(int32_t v) {
        const int64_t i = places_++, kept = list_edges(v, edge_begin_[i]);
        own_row_[i] = map_[v];
        edge_begin_[i + 1] = edge_begin_[i] + kept;
        zeros_[i] = degree(v) - kept;
        boundary_[i] = v == c_.plan->source[group_] ? c_.layer.query + group_ * c_.layer.dim : c_.layer.zero;
        if (c_.layer.edge_weight) weight_[i] = c_.layer.edge_weight + c_.graph.indptr[v];
    }

    // Once all edges are listed: the list may have moved while it grew.
    void find_relations() {
        for (int64_t i = 0; i < places_; ++i)
            relation_[i] =
                shared_.skips_zero_row ? edge_relation_.data() + edge_begin_[i] : c_.graph.relation + first_edge(i);
    }

    // Rows stand in order of their degrees, so the edges of the next are anywhere: a wait for memory each.
    void prefetch_edges(int32_t v) const {
        const int64_t first = c_.graph.indptr[v], last = std::min(c_.graph.indptr[v + 1], first + most_ahead);
        for (int64_t e = first; e < last; e += 64 / int64_t(sizeof(int32_t))) {
            __builtin_prefetch(c_.graph.source + e);
            __builtin_prefetch(c_.graph.relation + e);
        }
    }

    bool sees_only_zeros(int32_t v) const {
        if (v == c_.plan->source[group_]) return false;
        if (!map_.has_own_rows()) return true;
        for (int64_t e = c_.graph.indptr[v]; e < c_.graph.indptr[v + 1]; ++e)
            if (map_[c_.graph.source[e]] >= 0) return false;
        return true;
    }

    // Lists the edges of a node behind those listed already; how many.
    int64_t list_edges(int32_t v, int64_t at) {
        const int64_t count = degree(v);
        const int32_t *source = c_.graph.source + c_.graph.indptr[v],
                      *relation = c_.graph.relation + c_.graph.indptr[v];
        const int32_t *map = map_.data();
        edge_source_.grow(at + count + prefetch_distance, at);
        int32_t *to = edge_source_.data() + at;
        if (!shared_.skips_zero_row) {
            for (int64_t e = 0; e < count; ++e) to[e] = map[source[e]];
            return count;
        }
        edge_relation_.grow(at + count, at);
        int32_t *to_relation = edge_relation_.data() + at;
        int64_t kept = 0;
        for (int64_t e = 0; e < count; ++e) {
            to[kept] = map[source[e]];
            to_relation[kept] = relation[e];
            kept += to[kept] >= 0;
        }
        return kept;
    }

    static constexpr int64_t rows_ahead = 6, most_ahead = 64;  // edges of a row asked for; the rest follow in line

    const FusedCall<Scalar> &c_;
    const SharedInputs<Scalar> &shared_;
    void (*const gather_)(const TileEdges<Scalar> &, const TileStatistics<Scalar> &);
    const Scalar *const previous_;
    RowMap map_;
    TileLayer<Scalar> layer_;
    AlignedArray<Scalar> ties_;                          // (place, extremum, dim)
    AlignedArray<int32_t> edge_source_, edge_relation_;  // the latter only where edges are left out
    int64_t group_ = -1, places_ = 0;
    int64_t row_begin_[tile_rows + 1], edge_begin_[tile_rows + 1], own_row_[tile_rows], zeros_[tile_rows];
    const int32_t *relation_[tile_rows];
    const Scalar *boundary_[tile_rows], *weight_[tile_rows];
};

}  // namespace nbfnet::NBFNET_ISA
