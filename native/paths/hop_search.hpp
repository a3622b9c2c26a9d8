// HopSearch: min_plus from one source where every edge weighs the same, more than nothing: a breadth-first search.
#pragma once

#include <bit>
#include <cstdint>
#include <functional>
#include <vector>

#include "paths/path_edges.hpp"

namespace nbfnet {

class HopSearch {
  public:
    explicit HopSearch(const PathEdges &edges);

    // Every row's level: the least number of edges from the source, at most `iterations`; -1 where there is no such
    // path. Returns whether one more iteration would change nothing.
    bool solve(int64_t source, int64_t iterations, const std::function<bool()> &interrupted);

    // scores (node): level times the weight of an edge, added up edge by edge as an iteration does.
    void write_scores(const int32_t *rank, int64_t nodes, double *scores) const;

  private:
    int64_t push(int32_t level);  // along the out-edges of the list; returns how many rows are new, and lists them
    void mark(int32_t level);     // the targets of the frontier, which is of this level
    void pull(int32_t level);     // the missing rows that have a neighbour in the frontier mark themselves
    bool has_neighbour_in_frontier(int64_t row) const;
    int64_t collect();  // the frontier becomes the marked rows that were missing; returns how many
    void to_list(int32_t level);
    void to_bits();
    void write_levels(int32_t level);  // of the frontier

    template <class Visit>
    void each_in_frontier(Visit visit) const {
        for (int64_t word = 0; word < words_; ++word) {
            for (uint64_t rows = frontier_[word]; rows; rows &= rows - 1) {
                visit(static_cast<int32_t>(word * 64 + std::countr_zero(rows)));
            }
        }
    }

    const PathEdges &edges_;
    const int64_t words_;         // of 64 rows
    std::vector<int32_t> level_;  // (row,), written when a row of the frontier is walked
    bool is_list_ = true;         // whether the frontier is the list or the bits
    std::vector<int32_t> list_, reached_;
    std::vector<uint64_t> frontier_;  // (word,) bits
    std::vector<uint8_t> marked_;     // (row,) 0 or 1
    std::vector<uint8_t> missing_;    // (row,) 0 or 1, while the frontier is bits
};

}  // namespace nbfnet
