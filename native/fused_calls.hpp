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

// One thread's way through its rows, a tile at a time.
template <class M, class A, class Scalar>
class TileWalk {
  public:
    using Weights = PackedWeights<Scalar, scalers_of<A>>;

    TileWalk(const FusedCall<Scalar> &call, const Weights &weights, const Scalar *previous)
        : c(call), map(*call.plan, call.iteration, call.graph.nodes), layer(call.layer, weights), previous(previous) {}

    // work(first row, rows) with the tile's own rows, statistics and in-edges in place
    template <class Work>
    void each_tile(const Share &share, Work &&work) {
        map.enter(share.group);
        for (int64_t begin = share.row_begin; begin < share.row_end; begin += tile_rows) {
            const int64_t left = share.row_end - begin, rows = left < tile_rows ? left : tile_rows;
            find_edges(begin, rows);
            for (int64_t i = 0; i < rows; ++i) {
                std::memcpy(layer.own_row(i), previous + own_row[i] * c.layer.dim, c.layer.dim * sizeof(Scalar));
                layer.set_scale(i, c.layer.scale[node(begin + i)]);
                gather_statistics<M, A, Scalar>(in_edges(share.group, begin, i), layer.statistics_row(i));
            }
            layer.project(rows);
            work(begin, rows);
        }
    }

    int32_t node(int64_t row) const { return c.plan->levels[c.iteration].node[row]; }
    bool is_source(int64_t group, int64_t row) const { return node(row) == c.plan->source[group]; }

    InEdges<Scalar> in_edges(int64_t group, int64_t begin, int64_t i) const {
        const int64_t edge = c.graph.indptr[node(begin + i)], dim = c.layer.dim;
        const Scalar *boundary = is_source(group, begin + i) ? c.layer.query + group * dim : c.layer.zero;
        const Scalar *relations = c.layer.relation + c.plan->family[group] * c.layer.relations * dim;
        return {edge_row.data() + edge_begin[i], c.graph.relation + edge, edge_begin[i + 1] - edge_begin[i],
                dim, previous, relations, boundary};
    }

    int64_t own_row_of(int64_t i) const { return own_row[i]; }
    TileLayer<Scalar, scalers_of<A>> &tile() { return layer; }

  private:
    void find_edges(int64_t begin, int64_t rows) {
        edge_begin[0] = 0;
        for (int64_t i = 0; i < rows; ++i) {
            const int32_t v = node(begin + i);
            edge_begin[i + 1] = edge_begin[i] + c.graph.indptr[v + 1] - c.graph.indptr[v];
        }
        const int64_t needed = edge_begin[rows] + prefetch_distance;
        if (needed > edge_row.size()) edge_row.resize(2 * needed);
        for (int64_t i = 0; i < rows; ++i) {
            const int32_t v = node(begin + i);
            own_row[i] = map[v];
            const int32_t *source = c.graph.source + c.graph.indptr[v], *row_of = map.data();
            int32_t *__restrict row = edge_row.data() + edge_begin[i];
            for (int64_t e = 0; e < edge_begin[i + 1] - edge_begin[i]; ++e) row[e] = row_of[source[e]];
        }
    }

    const FusedCall<Scalar> &c;
    RowMap map;
    TileLayer<Scalar, scalers_of<A>> layer;
    const Scalar *previous;
    Buffer<int32_t> edge_row;
    int64_t edge_begin[tile_rows + 1], own_row[tile_rows];
};

template <class M, class A, class Scalar>
void fused_forward(const FusedCall<Scalar> &call) {
    const PackedWeights<Scalar, scalers_of<A>> weights(call.layer, A::statistics);
    const PreviousRows<Scalar> previous(call);
    parallel(static_cast<int>(call.shares->of_thread.size()), [&](int thread) {
        TileWalk<M, A, Scalar> walk(call, weights, previous.data());
        for (const Share &share : call.shares->of_thread[thread])
            walk.each_tile(share, [&](int64_t begin, int64_t rows) {
                for (int64_t i = 0; i < rows; ++i)
                    walk.tile().finish(i, call.out + (begin + i) * call.layer.dim);
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
    const Level &before = call.plan->levels[call.iteration - 1];
    const int32_t first_background = static_cast<int32_t>(before.begin[call.plan->queries]);
    std::vector<WeightSums<Scalar, scalers_of<A>>> sums;
    std::vector<ThreadGradients<Scalar>> gradients;
    sums.reserve(threads);
    gradients.reserve(threads);
    for (int thread = 0; thread < threads; ++thread) {
        sums.emplace_back(weights);
        gradients.emplace_back(call, thread);
    }

    parallel(threads, [&](int thread) {
        TileWalk<M, A, Scalar> walk(call, weights, previous.data());
        ThreadGradients<Scalar> &mine = gradients[thread];
        for (const Share &share : call.shares->of_thread[thread]) {
            const int64_t group = share.group, family = call.plan->family[group];
            EdgeGradients<Scalar> to{mine.rows_of(group), mine.rows_of(call.plan->background(group)), first_background,
                                     mine.relations_of(family), nullptr};
            walk.each_tile(share, [&](int64_t begin, int64_t rows) {
                auto &tile = walk.tile();
                for (int64_t i = 0; i < rows; ++i)
                    std::memcpy(tile.grad_row(i), call.grad_out + (begin + i) * dim, dim * sizeof(Scalar));
                tile.backward(rows, sums[thread]);
                for (int64_t i = 0; i < rows; ++i) {
                    const int64_t own = walk.own_row_of(i);
                    Scalar *grad_own = (own >= first_background ? to.back : to.own) + own * dim;
                    for (int64_t o = 0; o < dim; ++o) grad_own[o] += tile.grad_own_row(i)[o];
                    to.boundary = walk.is_source(group, begin + i) ? call.gradient.query + group * dim
                                                                   : mine.zero_boundary();
                    spread_gradient<M, A, Scalar>(walk.in_edges(group, begin, i), tile.statistics_row(i),
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
