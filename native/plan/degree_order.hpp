// The nodes in the order of degree, and any of them sorted so: rows of one degree share one matrix of PNA's scalers.
#pragma once

#include <algorithm>
#include <bit>
#include <cstdint>
#include <numeric>
#include <vector>

#include "plan/row_plan.hpp"

namespace nbfnet {

inline int64_t degree(const Graph &g, int32_t v) { return g.indptr[v + 1] - g.indptr[v]; }

class DegreeOrder {
  public:
    explicit DegreeOrder(const Graph &g) : by_degree(g.nodes), rank(g.nodes) {
        std::vector<int64_t> begin(2, 0);  // (degree + 1), then where the nodes of each degree begin
        for (int32_t v = 0; v < g.nodes; ++v) {
            const size_t at = static_cast<size_t>(degree(g, v)) + 1;
            if (begin.size() <= at) begin.resize(at + 1, 0);
            ++begin[at];
        }
        std::partial_sum(begin.begin(), begin.end(), begin.begin());
        for (int32_t v = 0; v < g.nodes; ++v) {
            rank[v] = static_cast<int32_t>(begin[degree(g, v)]++);
            by_degree[rank[v]] = v;
        }
    }

    const std::vector<int32_t> &nodes() const { return by_degree; }

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
    std::vector<int32_t> by_degree, rank;  // (node) each other's inverse
};

}  // namespace nbfnet
