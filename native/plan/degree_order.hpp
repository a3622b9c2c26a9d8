// The nodes in the order of degree, and the edges of a graph in that order.
//
// Rows of one degree share one matrix of PNA's scalers, so rows are computed in this order. Reading their edges from
// where they stand in the same order is reading memory in line, and a head is listed by its rank: where a query has a
// row for every node, that is its row.
#pragma once

#include <algorithm>
#include <bit>
#include <cstdint>
#include <numeric>
#include <vector>

#include "memory/aligned_array.hpp"
#include "plan/row_plan.hpp"

namespace nbfnet {

NBFNET_INLINE int64_t degree(const Graph &g, int32_t v) { return g.indptr[v + 1] - g.indptr[v]; }

class DegreeOrder {
  public:
    // So many entries may be read behind the last edge.
    static constexpr int64_t padding = 16;

    explicit DegreeOrder(const Graph &g) : by_degree(g.nodes), rank(g.nodes), begin(g.nodes + 1) {
        std::vector<int64_t> of_degree(2, 0);  // (degree + 1), then where the nodes of each degree begin
        for (int32_t v = 0; v < g.nodes; ++v) {
            const size_t at = static_cast<size_t>(degree(g, v)) + 1;
            if (of_degree.size() <= at) of_degree.resize(at + 1, 0);
            ++of_degree[at];
        }
        std::partial_sum(of_degree.begin(), of_degree.end(), of_degree.begin());
        for (int32_t v = 0; v < g.nodes; ++v) {
            rank[v] = static_cast<int32_t>(of_degree[degree(g, v)]++);
            by_degree[rank[v]] = v;
        }
        order_edges(g);
    }

    const std::vector<int32_t> &nodes() const { return by_degree; }
    NBFNET_INLINE int32_t rank_of(int32_t node) const { return rank[node]; }
    // Of the edges that end in the node of a rank, in the order of the graph: the rank of each head, and its relation.
    NBFNET_INLINE const int32_t *heads(int32_t of_rank) const { return head.data() + begin[of_rank]; }
    NBFNET_INLINE const int32_t *relations(int32_t of_rank) const { return relation.data() + begin[of_rank]; }
    NBFNET_INLINE int64_t degree_of(int32_t of_rank) const { return begin[of_rank + 1] - begin[of_rank]; }

    // Sorts nodes: a few by comparing, many as bits at their ranks, which a walk over all words finds in order.
    void sort(std::vector<int32_t> &nodes) const {
        const size_t words = rank.size() / 64 + 1;
        if (nodes.size() < words / 16) {
            std::sort(nodes.begin(), nodes.end(), [&](int32_t a, int32_t b) { return rank[a] < rank[b]; });
            return;
        }
        std::vector<uint64_t> bits(words, 0);
        for (const int32_t v : nodes) bits[rank[v] / 64] |= uint64_t{1} << rank[v] % 64;
        nodes.clear();
        for (size_t word = 0; word < words; ++word)
            for (uint64_t left = bits[word]; left; left &= left - 1)
                nodes.push_back(by_degree[word * 64 + std::countr_zero(left)]);
    }

  private:
    void order_edges(const Graph &g) {
        head.reserve(g.edges + padding);
        relation.reserve(g.edges);
        int64_t edge = 0;
        for (size_t k = 0; k < by_degree.size(); ++k) {
            const int64_t first = g.indptr[by_degree[k]], count = degree(g, by_degree[k]);
            for (int64_t e = 0; e < count; ++e) head[edge + e] = rank[g.source[first + e]];
            std::copy_n(g.relation + first, count, relation.data() + edge);
            begin[k + 1] = edge += count;
        }
        std::fill_n(head.data() + edge, padding, 0);
    }

    std::vector<int32_t> by_degree, rank;  // (node) each other's inverse
    std::vector<int64_t> begin;            // (rank + 1)
    AlignedArray<int32_t> head, relation;  // (edge)
};

}  // namespace nbfnet
