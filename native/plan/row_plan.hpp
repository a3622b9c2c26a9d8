// RowPlan: which pair representations h^(t)(u, v) a batch of queries has to compute, iteration by iteration.
//
// A *group* computes rows over one choice of (source, family): a query, or the background of a family, which is what
// the network computes with no source anywhere. A *family* is the queries that share edge representations, hence a
// background. A row is a node of a group at an iteration. Groups 0 .. queries - 1 are the queries, then one background
// for each family.
#pragma once

#include <cstdint>
#include <vector>

#include "simd/always_inline.hpp"

namespace nbfnet {

class DegreeOrder;

struct Graph {
    int64_t nodes = 0, edges = 0;
    const int64_t *indptr = nullptr;      // (node + 1) in-edges
    const int32_t *source = nullptr;      // (edge)
    const int32_t *relation = nullptr;    // (edge)
    const int64_t *out_indptr = nullptr;  // (node + 1) out-edges
    const int32_t *target = nullptr;      // (edge)
    const DegreeOrder *order = nullptr;   // its nodes and edges in the order of degree
    int64_t serial = 0;                   // tells graphs apart
};

// What a row costs beside its edges, measured in edges: its share of the dense algebra.
inline constexpr double edges_worth_a_row = 12;

// The rows of one iteration, group after group, within a group in the order of degree.
struct Level {
    std::vector<int64_t> begin;  // (group + 1)
    std::vector<int32_t> node;   // (row)

    int64_t rows() const { return static_cast<int64_t>(node.size()); }
    NBFNET_INLINE int64_t rows_of(int64_t group) const { return begin[group + 1] - begin[group]; }
};

struct RowPlan {
    int64_t queries = 0, families = 0, iterations = 0;
    std::vector<int32_t> source;      // (group) the source node, -1 in a background
    std::vector<int32_t> family;      // (group)
    std::vector<Level> levels;        // (iterations + 1); level 0 holds only sources: every other node has the zero row
    std::vector<int64_t> target_row;  // (target) where each target stands in the last level
    int64_t edges = 0;                // messages to compute, over all iterations
    int64_t graph = 0;                // the serial number of the graph it was made for
    bool background_given = false;    // the rows of backgrounds are listed, but not computed

    int64_t groups() const { return queries + families; }
    int64_t background(int64_t group) const { return queries + family[group]; }
};

inline constexpr int64_t most_iterations = 126;  // distances are int8_t, and 127 is `never`

struct PlanRequest {
    Graph graph;
    int64_t iterations = 0, families = 0;
    std::vector<int32_t> source, family;  // (query)
    std::vector<int64_t> target_begin;    // (query + 1), empty: every node is a target
    std::vector<int32_t> target;          // (target)
    std::vector<int64_t> changed_begin;   // (query + 1), empty: the source is what makes rows differ from a background
    std::vector<int32_t> changed;   // nodes whose in-edges are not those that the given background was computed over
    bool frontier = true;           // false: every node of every query, the plain algorithm
    bool background_given = false;  // it is known already: list only what queries read of it
    int threads = 1;
};

RowPlan make_plan(const PlanRequest &request);

}  // namespace nbfnet
