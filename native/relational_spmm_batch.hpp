// Relational SpMM for a batch of queries: shares the rows among threads, and adds up what threads or queries share.
#pragma once

#include <algorithm>
#include <type_traits>

#include "block_pool.hpp"
#include "instruction_set.hpp"
#include "relational_spmm.hpp"
#include "row_ranges.hpp"

namespace nbfnet {

// The inputs of a call, and their sizes.
template <class Scalar>
struct Batch {
    Message message;
    Aggregate aggregate;
    Edges<Scalar> edges;
    const Scalar *source;    // (query, source row, dim)
    const Scalar *relation;  // (query or 1, relation, dim)
    const Scalar *boundary;  // (query, row, dim)
    int64_t queries, sources, relation_queries, relations, rows, edge_count, dim, threads;

    int64_t statistics() const { return aggregate == Aggregate::pna ? 4 : 1; }
    int64_t source_size() const { return sources * dim; }
    int64_t relation_size() const { return relations * dim; }
    int64_t row_size() const { return rows * dim; }
    int64_t out_size() const { return rows * statistics() * dim; }
    // As many of the threads as have something to do: starting one takes as long as some ten thousand numbers.
    int64_t busy_threads() const {
        constexpr int64_t numbers_worth_a_thread = 1 << 16;
        const int64_t numbers = queries * (edge_count + rows) * dim;
        return std::clamp<int64_t>(numbers / numbers_worth_a_thread, 1, threads);
    }
    bool shares_relation() const { return relation_queries == 1; }
    const Scalar *relation_of(int64_t query) const {
        return shares_relation() ? relation : relation + query * relation_size();
    }

    // Whether an output is so large that it leaves the caches before it is read, and aligned as such stores need it.
    bool past_caches(const Scalar *out, int64_t size) const {
        constexpr size_t line = 64, large = size_t(32) << 20;
        const int64_t part = dim / (message == Message::rotate ? 2 : 1);
        return size * sizeof(Scalar) >= large && part * sizeof(Scalar) % line == 0 &&
               reinterpret_cast<uintptr_t>(out) % line == 0;
    }
};

// The arrays that a backward call reads and writes beside its inputs.
template <class Scalar>
struct BatchGradients {
    const Scalar *grad_out;                      // (query, row, statistic, dim)
    Scalar *source, *relation, *boundary;        // as the inputs
    Scalar *weight;                              // (edge), or null: not wanted
};

template <class Scalar>
void forward_batch(const Batch<Scalar> &batch, Scalar *out) {
    if (batch.queries == 0 || batch.rows == 0) return;
    const auto kernel = kernels<Scalar>(instruction_set())
        .forward[static_cast<int>(batch.message)][static_cast<int>(batch.aggregate)][batch.edges.weight != nullptr];
    const bool past_caches = batch.past_caches(out, batch.queries * batch.out_size());
    const int64_t threads = batch.busy_threads(), ranges = free_ranges_per_query(batch.queries, threads);
    const std::vector<int64_t> cuts = cut_rows(batch.edges.indptr, batch.rows, ranges);
#pragma omp parallel for schedule(dynamic, 1) num_threads(static_cast<int>(threads)) if (threads > 1)
    for (int64_t unit = 0; unit < batch.queries * ranges; ++unit) {
        const int64_t query = unit / ranges, range = unit % ranges;
        kernel({batch.edges, batch.dim, cuts[range], cuts[range + 1], batch.source + query * batch.source_size(),
                batch.relation_of(query), batch.boundary + query * batch.row_size(), out + query * batch.out_size(),
                past_caches});
    }
}

// to = to (or 0) + sum of the blocks, in double, and in a fixed order: a run can be repeated bit by bit.
template <class Scalar>
void add_blocks(Scalar *to, bool keep, const Scalar *blocks, int64_t block_count, int64_t block_size, int64_t threads) {
    constexpr int64_t stretch = 1024;
#pragma omp parallel for num_threads(static_cast<int>(threads)) if (threads > 1 && block_size > 16 * stretch)
    for (int64_t begin = 0; begin < block_size; begin += stretch) {
        const int64_t size = std::min(stretch, block_size - begin);
        double sum[stretch];
        for (int64_t i = 0; i < size; ++i) sum[i] = keep ? to[begin + i] : 0;
        for (int64_t block = 0; block < block_count; ++block) {
            const Scalar *from = blocks + block * block_size + begin;
            for (int64_t i = 0; i < size; ++i) sum[i] += from[i];
        }
        for (int64_t i = 0; i < size; ++i) to[begin + i] = static_cast<Scalar>(sum[i]);
    }
}

// The gradients of queries [begin, end). A unit of work is a range of a query's rows, and adds into buffers of its own:
// nothing is raced for. The first range of a query may use the outputs themselves.
template <class Scalar>
void backward_queries(const Batch<Scalar> &batch, const BatchGradients<Scalar> &grads, int64_t begin, int64_t end) {
    const int64_t queries = end - begin, source_size = batch.source_size(), relation_size = batch.relation_size();
    const int64_t threads = batch.busy_threads();
    const int64_t ranges = costly_ranges_per_query(queries, threads), units = queries * ranges;
    const bool sums_relation = ranges > 1 || (batch.shares_relation() && batch.queries > 1);
    const bool past_caches = batch.past_caches(grads.boundary, batch.queries * batch.row_size());
    const std::vector<int64_t> cuts = cut_rows(batch.edges.indptr, batch.rows, ranges);
    const PooledArray<Scalar> blocks((units - queries) * source_size + sums_relation * units * relation_size);
    Scalar *source_blocks = blocks.data(), *relation_blocks = source_blocks + (units - queries) * source_size;
    const auto kernel = kernels<Scalar>(instruction_set())
        .backward[static_cast<int>(batch.message)][static_cast<int>(batch.aggregate)][batch.edges.weight != nullptr];

#pragma omp parallel for schedule(dynamic, 1) num_threads(static_cast<int>(threads)) if (threads > 1)
    for (int64_t unit = 0; unit < units; ++unit) {
        const int64_t local = unit / ranges, range = unit % ranges, query = begin + local;
        Scalar *grad_source = range == 0 ? grads.source + query * source_size
                                         : source_blocks + (local * (ranges - 1) + range - 1) * source_size;
        Scalar *grad_relation = sums_relation ? relation_blocks + unit * relation_size
                                              : grads.relation + query * relation_size;
        std::fill_n(grad_source, source_size, Scalar{0});
        std::fill_n(grad_relation, relation_size, Scalar{0});
        kernel({batch.edges, batch.dim, cuts[range], cuts[range + 1], batch.source + query * source_size,
                batch.relation_of(query), batch.boundary + query * batch.row_size(),
                grads.grad_out + query * batch.out_size(), grad_source, grad_relation, grads.boundary + query * batch.row_size(),
                grads.weight, past_caches});
    }

    for (int64_t local = 0; ranges > 1 && local < queries; ++local)
        add_blocks(grads.source + (begin + local) * source_size, true,
                   source_blocks + local * (ranges - 1) * source_size, ranges - 1, source_size, threads);
    if (sums_relation && batch.shares_relation())
        add_blocks(grads.relation, begin > 0, relation_blocks, units, relation_size, threads);
    else if (sums_relation)
        for (int64_t local = 0; local < queries; ++local)
            add_blocks(grads.relation + (begin + local) * relation_size, false,
                       relation_blocks + local * ranges * relation_size, ranges, relation_size, threads);
}

template <class Scalar>
void backward_batch(const Batch<Scalar> &batch, const BatchGradients<Scalar> &grads) {
    if (grads.weight) std::fill_n(grads.weight, batch.edge_count, Scalar{0});
    if (batch.queries == 0) {
        std::fill_n(grads.relation, batch.relation_queries * batch.relation_size(), Scalar{0});
    } else if (grads.weight) {
        // Queries share the weights: one query after the other, its rows among the threads, and no edge is raced for.
        for (int64_t query = 0; query < batch.queries; ++query) backward_queries(batch, grads, query, query + 1);
    } else {
        backward_queries(batch, grads, 0, batch.queries);
    }
}

}  // namespace nbfnet
