// A whole fused iteration, forward and back, over the shares of all threads.
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
        std::memcpy(copy.data() + dim, call.previous, count * dim * sizeof(Scalar));
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
// alike: rows of one degree which see nothing but zeros before the first iteration.
template <class M, class A, class Scalar>
class TileWalk {
  public:
    using Weights = PackedWeights<Scalar, scalers_of<A>>;

    TileWalk(const FusedCall<Scalar> &call, const Weights &weights, const Scalar *previous, bool skips_zero_row)
        : c(call), map(*call.plan, call.iteration, call.graph.nodes), layer(call.layer, weights), previous(previous),
          skips_zero_row(skips_zero_row) {}

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
                gather_statistics<M, A, Scalar>(in_edges(i), layer.statistics_row(i));
            }
            layer.project(places);
            work(places);
        }
    }

    InEdges<Scalar> in_edges(int64_t i) const {
        const int64_t dim = c.layer.dim, count = edge_begin[i + 1] - edge_begin[i];
        const int32_t v = node(row_begin[i]);
        const Scalar *relations = c.layer.relation + c.plan->family[group] * c.layer.relations * dim;
        return {edge_source.data() + edge_begin[i], edge_relation.data() + edge_begin[i], count, degree(v) - count, dim, previous, relations,
                is_source(i) ? c.layer.query + group * dim : c.layer.zero};
    }

    bool is_source(int64_t i) const { return node(row_begin[i]) == c.plan->source[group]; }
    int64_t own_row_of(int64_t i) const { return own_row[i]; }
    int64_t begin_of(int64_t i) const { return row_begin[i]; }  // place i stands for the rows from here to the next
    TileLayer<Scalar, scalers_of<A>> &tile() { return layer; }

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
        edge_source.grow(at + count + prefetch_distance, at);
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
    Buffer<int64_t> edge_source, edge_relation;  // where they begin, as multiples of dim
    int64_t group = -1, places = 0;
    int64_t row_begin[tile_rows + 1], edge_begin[tile_rows + 1], own_row[tile_rows];
};

template <class M, class A, class Scalar>
void fused_forward(const FusedCall<Scalar> &call) {
    const PackedWeights<Scalar, scalers_of<A>> weights(call.layer, A::statistics);
    const PreviousRows<Scalar> previous(call);
    const bool skips_zero_row = zero_row_is_silent<M>(call);
    const int64_t dim = call.layer.dim;
    parallel(static_cast<int>(call.shares->of_thread.size()), [&](int thread) {
        TileWalk<M, A, Scalar> walk(call, weights, previous.data(), skips_zero_row);
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

// Where one thread adds up gradients that other threads add to as well. The first thread has the real arrays.
template <class Scalar>
class ThreadGradients {
  public:
    ThreadGradients(const FusedCall<Scalar> &call, int thread)
        : c(call), dim(call.layer.dim), level(call.plan->levels[call.iteration - 1]), first(thread == 0),
          zero(dim), offset(call.plan->groups()), family_begin(call.plan->families) {
        for (int64_t f = 0; f < c.plan->families; ++f) family_begin[f] = -1;
        if (c.iteration == 1) sources.resize((level.rows() + 1) * dim);
        if (first) return;
        int64_t rows = 0;
        for (int64_t group = 0; c.iteration > 1 && group < c.plan->groups(); ++group)
            if (c.shares->contested[group]) {
                offset[group] = rows - level.begin[group];
                rows += level.begin[group + 1] - level.begin[group];
            }
        contested.resize(rows * dim);
        int64_t families = 0;
        for (const Share &share : c.shares->of_thread[thread]) {
            int64_t &begin = family_begin[c.plan->family[share.group]];
            if (begin < 0) begin = families++;
        }
        relations.resize(families * c.layer.relations * dim);
    }

    // The base of (row of the level before, dim) for a group's rows.
    Scalar *rows_of(int64_t group) {
        if (c.iteration == 1) return sources.data() + dim;
        if (first || !c.shares->contested[group]) return c.grad_previous;
        return contested.data() + offset[group] * dim;
    }

    Scalar *relations_of(int64_t family) {
        const int64_t size = c.layer.relations * dim;
        return first ? c.gradient.relation + family * size : relations.data() + family_begin[family] * size;
    }

    Scalar *zero_boundary() { return zero.data(); }

    void add_up() {
        for (int64_t i = 0; i < dim; ++i) c.gradient.zero[i] += zero[i];
        if (c.iteration == 1) {
            for (int64_t i = 0; i < dim; ++i) c.gradient.zero[i] += sources[i];
            for (int64_t i = 0; i < level.rows() * dim; ++i) c.grad_previous[i] += sources[dim + i];
        }
        if (first) return;
        for (int64_t f = 0; f < c.plan->families; ++f)
            if (family_begin[f] >= 0) {
                const int64_t size = c.layer.relations * dim;
                const Scalar *from = relations.data() + family_begin[f] * size;
                for (int64_t i = 0; i < size; ++i) c.gradient.relation[f * size + i] += from[i];
            }
    }

    // Adds one part of the contested rows, so that all threads can help.
    void add_contested(int part, int parts) {
        if (first || contested.size() == 0) return;
        for (int64_t group = 0; group < c.plan->groups(); ++group)
            if (c.shares->contested[group]) {
                const int64_t begin = level.begin[group] * dim, size = level.begin[group + 1] * dim - begin;
                const Scalar *from = contested.data() + offset[group] * dim;
                for (int64_t i = begin + size * part / parts; i < begin + size * (part + 1) / parts; ++i)
                    c.grad_previous[i] += from[i];
            }
    }

  private:
    const FusedCall<Scalar> &c;
    int64_t dim;
    const Level &level;
    bool first;
    Buffer<Scalar> zero, sources, contested, relations;
    Buffer<int64_t> offset, family_begin;
};

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
        TileWalk<M, A, Scalar> walk(call, weights, previous.data(), skips_zero_row);
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
                    spread_gradient<M, A, Scalar>(walk.in_edges(i), tile.statistics_row(i),
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
void add_message(FusedKernels<Scalar> &all, Message message) {
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
FusedKernels<Scalar> fused_kernels() {
    FusedKernels<Scalar> all;
    add_message<Scalar, TransE>(all, Message::transe);
    add_message<Scalar, DistMult>(all, Message::distmult);
    add_message<Scalar, RotatE>(all, Message::rotate);
    return all;
}

extern const FusedKernels<float> fused_float;
extern const FusedKernels<double> fused_double;

}  // namespace nbfnet::NBFNET_ISA
