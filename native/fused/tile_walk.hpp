// One thread's way through the rows of a fused iteration, a tile at a time.
#pragma once

#include <algorithm>

#include "fused/row_messages.hpp"
#include "fused/tile_layer.hpp"
#include "plan/degree_order.hpp"

namespace nbfnet::NBFNET_ISA {

// Where the representation of the iteration before stands of the node of each rank, for the group at hand: in the
// group's own rows, else in its background's; -1 is the zero row. One table holds both, so that an edge costs one look.
// A group with a row for every node has them in the order of rank, and needs no table.
//
// Before the first iteration, what has no row has the zero row. Later only rows that nothing reads lack any: those that
// were added to a level because almost all others are there. Any row of the group will do for them.
class RowMap {
  public:
    RowMap(const RowPlan &plan, const Graph &graph, int64_t iteration)
        : plan_(plan),
          level_(plan.levels[iteration - 1]),
          order_(*graph.order),
          nodes_(graph.nodes),
          is_first_(iteration == 1) {}

    void enter(int64_t group) {
        group_ = group;
        if (has_all_rows() || group == mapped_) return;
        if (mapped_ < 0) start();
        const int64_t background = plan_.background(group);
        if (mapped_ >= 0) each_row(mapped_, [&](int64_t, int32_t k) { rows_[k] = back_[k]; });
        if (mapped_ < 0 || background != plan_.background(mapped_)) {
            if (mapped_ >= 0)
                each_row(plan_.background(mapped_), [&](int64_t, int32_t k) { rows_[k] = back_[k] = -1; });
            each_row(background, [&](int64_t i, int32_t k) { rows_[k] = back_[k] = static_cast<int32_t>(i); });
        }
        each_row(group, [&](int64_t i, int32_t k) { rows_[k] = static_cast<int32_t>(i); });
        mapped_ = group;
    }

    // Edges read the group's rows in any order. Reading them in line first brings them close at the memory's full
    // speed.
    template <class Scalar>
    void read_ahead(const Scalar *rows, int64_t dim) const {
        constexpr int64_t line = 64 / sizeof(Scalar);
        const volatile Scalar *in_line = rows;
        for (int64_t i = level_.begin[group_] * dim; i < level_.begin[group_ + 1] * dim; i += line) (void)in_line[i];
    }

    bool has_own_rows() const { return level_.rows_of(group_) > 0; }
    bool has_all_rows() const { return level_.rows_of(group_) == nodes_; }
    int64_t first_row() const { return level_.begin[group_]; }
    // Stands in for what has no row. All rows that the group reads, the background's too, come behind its first.
    int32_t spare() const { return is_first_ ? -1 : static_cast<int32_t>(first_row()); }
    int64_t operator[](int32_t rank) const {
        return has_all_rows() ? first_row() + rank : std::max(rows_[rank], spare());
    }
    const int32_t *data() const { return rows_.data(); }  // (rank) -1 where there is no row; not if it has all rows

  private:
    void start() {
        rows_.reserve(nodes_);
        back_.reserve(nodes_);
        for (int64_t k = 0; k < nodes_; ++k) rows_[k] = back_[k] = -1;
    }

    template <class Work>
    void each_row(int64_t group, const Work &work) const {
        for (int64_t i = level_.begin[group]; i < level_.begin[group + 1]; ++i) work(i, order_.rank_of(level_.node[i]));
    }

    const RowPlan &plan_;
    const Level &level_;
    const DegreeOrder &order_;
    const int64_t nodes_;
    const bool is_first_;
    AlignedArray<int32_t> rows_, back_;
    int64_t group_ = -1, mapped_ = -1;
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
          level_(call.plan->levels[call.iteration]),
          order_(*call.graph.order),
          map_(*call.plan, call.graph, call.iteration),
          layer_(call.layer, shared.weights),
          ties_(counts_ties ? tile_rows * shared.messages.extrema * call.layer.dim : 0),
          sees_source_(shared.skips_zero_row ? call.graph.nodes : 0) {}

    // work(places) with the tile's own rows, statistics and in-edges in place
    template <class Work>
    void each_tile(const Share &share, Work &&work) {
        group_ = share.group;
        map_.enter(group_);
        mark_source(group_, true);
        map_.read_ahead(previous_, c_.layer.dim);
        for (int64_t begin = share.row_begin; begin < share.row_end; begin = row_begin_[places_]) {
            find_places(begin, share.row_end);
            find_lists();
            for (int64_t i = 0; i < places_; ++i) {
                std::memcpy(layer_.own_row(i), previous_ + own_row_[i] * c_.layer.dim, c_.layer.dim * sizeof(Scalar));
                layer_.set_scale(i, c_.layer.scale[node(row_begin_[i])]);
            }
            gather_(edges(), statistics());
            layer_.project(places_);
            work(places_);
        }
        mark_source(group_, false);
    }

    // Hands the gradient of the statistics on to the edges, for the tile at hand.
    void spread(EdgeGradients<Scalar> to) {
        if (map_.has_all_rows()) {  // then edges count from the group's first row, and never lead to a background
            to.own += map_.first_row() * c_.layer.dim;
            to.first_background = c_.graph.nodes;
        }
        shared_.messages.spread(edges(), statistics(), layer_.grad_statistics_row(0), to);
    }

    bool is_source(int64_t i) const { return node(row_begin_[i]) == c_.plan->source[group_]; }
    int64_t own_row_of(int64_t i) const { return own_row_[i]; }
    int64_t begin_of(int64_t i) const { return row_begin_[i]; }  // place i stands for the rows from here to the next
    int64_t first_edge(int64_t i) const { return c_.graph.indptr[node(row_begin_[i])]; }
    TileLayer<Scalar> &tile() { return layer_; }

  private:
    int32_t node(int64_t row) const { return level_.node[row]; }

    TileEdges<Scalar> edges() const {
        const int64_t dim = c_.layer.dim;
        const Scalar *relations = c_.layer.relation + c_.plan->family[group_] * c_.layer.relations * dim;
        const Scalar *previous = map_.has_all_rows() ? previous_ + map_.first_row() * dim : previous_;
        return {places_,   dim,      count_,    source_,
                relation_, zeros_,   boundary_, c_.layer.edge_weight ? weight_ : nullptr,
                previous,  relations};
    }
    TileStatistics<Scalar> statistics() {
        return {layer_.statistics_row(0), shared_.weights.width_padded, ties_.data()};
    }

    // Fills a tile with the rows from `begin` on.
    void find_places(int64_t begin, int64_t end) {
        places_ = listed_ = 0;
        row_begin_[0] = begin;
        bool alike = false;
        for (int64_t row = begin; row < end; ++row) {
            const int32_t v = node(row);
            const bool was_alike = alike && degree(c_.graph, v) == degree(c_.graph, node(row - 1));
            alike = shared_.skips_zero_row && !sees_source_[v];
            if (!(alike && was_alike)) {
                if (places_ == tile_rows) return;
                add_place(v);
            }
            row_begin_[places_] = row + 1;
        }
    }

    void add_place(int32_t v) {
        const int64_t i = places_++;
        rank_[i] = order_.rank_of(v);
        own_row_[i] = map_[rank_[i]];
        count_[i] = map_.has_all_rows() ? order_.degree_of(rank_[i]) : list_edges(rank_[i]);
        zeros_[i] = order_.degree_of(rank_[i]) - count_[i];
        boundary_[i] = v == c_.plan->source[group_] ? c_.layer.query + group_ * c_.layer.dim : c_.layer.zero;
        if (c_.layer.edge_weight) weight_[i] = c_.layer.edge_weight + c_.graph.indptr[v];
    }

    // Once all edges are listed: the lists may have moved while they grew.
    void find_lists() {
        int64_t at = 0;
        for (int64_t i = 0; i < places_; at += count_[i++]) {
            source_[i] = map_.has_all_rows() ? order_.heads(rank_[i]) : edge_source_.data() + at;
            relation_[i] = lists_relations() ? edge_relation_.data() + at : order_.relations(rank_[i]);
        }
    }

    bool lists_relations() const { return shared_.skips_zero_row && !map_.has_all_rows(); }

    // Before the first iteration only the source has a row that is not zero: which nodes see it.
    void mark_source(int64_t group, char seen) {
        if (!shared_.skips_zero_row || !map_.has_own_rows()) return;
        const Graph &g = c_.graph;
        const int32_t source = c_.plan->source[group];
        sees_source_[source] = seen;
        for (int64_t e = g.out_indptr[source]; e < g.out_indptr[source + 1]; ++e) sees_source_[g.target[e]] = seen;
    }

    // Lists the edges of a node behind those listed already; how many.
    int64_t list_edges(int32_t rank) {
        const int64_t count = order_.degree_of(rank);
        const int32_t *heads = order_.heads(rank), *map = map_.data();
        edge_source_.grow(listed_ + count + prefetch_distance, listed_);
        int32_t *to = edge_source_.data() + listed_;
        int64_t kept = 0;
        if (shared_.skips_zero_row) {
            edge_relation_.grow(listed_ + count, listed_);
            const int32_t *relation = order_.relations(rank);
            int32_t *to_relation = edge_relation_.data() + listed_;
            for (int64_t e = 0; e < count; ++e) {
                to[kept] = map[heads[e]];
                to_relation[kept] = relation[e];
                kept += to[kept] >= 0;
            }
        } else {
            const int32_t spare = map_.spare();
            for (; kept < count; ++kept) to[kept] = std::max(map[heads[kept]], spare);
        }
        listed_ += kept;
        return kept;
    }

    const FusedCall<Scalar> &c_;
    const SharedInputs<Scalar> &shared_;
    void (*const gather_)(const TileEdges<Scalar> &, const TileStatistics<Scalar> &);
    const Scalar *const previous_;
    const Level &level_;
    const DegreeOrder &order_;
    RowMap map_;
    TileLayer<Scalar> layer_;
    AlignedArray<Scalar> ties_;                          // (place, extremum, dim)
    AlignedArray<char> sees_source_;                     // (node) only where edges are left out
    AlignedArray<int32_t> edge_source_, edge_relation_;  // the latter only where edges are left out
    int64_t group_ = -1, places_ = 0, listed_ = 0;       // edges
    int64_t row_begin_[tile_rows + 1], own_row_[tile_rows], count_[tile_rows], zeros_[tile_rows];
    int32_t rank_[tile_rows];
    const int32_t *source_[tile_rows], *relation_[tile_rows];
    const Scalar *boundary_[tile_rows], *weight_[tile_rows];
};

}  // namespace nbfnet::NBFNET_ISA
