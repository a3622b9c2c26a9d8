// The arrays of a RelationalCSR and its transpose as Python gives them, held as long as anything here uses them.
#pragma once

#include <algorithm>
#include <atomic>
#include <optional>

#include "plan/degree_order.hpp"
#include "python/bindings.hpp"
#include "python/checks.hpp"

namespace nbfnet {

// The sum over all edges (row, neighbour) of a hash of both: the same for the same edges in any order.
inline uint64_t edge_checksum(const int64_t *indptr, const int32_t *neighbour, int64_t nodes, bool rows_are_targets) {
    uint64_t sum = 0;
    for (int64_t row = 0; row < nodes; ++row)
        for (int64_t e = indptr[row]; e < indptr[row + 1]; ++e) {
            const uint64_t from = rows_are_targets ? neighbour[e] : row, to = rows_are_targets ? row : neighbour[e];
            uint64_t mixed = (from << 32 | to) * 0x9e3779b97f4a7c15u;
            mixed = (mixed ^ mixed >> 29) * 0xbf58476d1ce4e5b9u;
            sum += mixed ^ mixed >> 32;
        }
    return sum;
}

class GraphArrays {
  public:
    GraphArrays(In<int64_t> indptr, In<int32_t> source, In<int32_t> relation, In<int64_t> out_indptr,
                In<int32_t> target)
        : indptr(indptr), source(source), relation(relation), out_indptr(out_indptr), target(target) {
        const int64_t nodes = expect_rows("indptr", indptr), edges = length(source);
        expect_length("relation", length(relation), edges);
        expect_length("target", length(target), edges);
        expect_runs("indptr", indptr, nodes, edges);
        expect_runs("out_indptr", out_indptr, nodes, edges);
        expect_ids("source", source, nodes);
        expect_ids("target", target, nodes);
        expect_ids("relation", relation, most_ids);
        if (edges > 0) relations = int64_t{*std::max_element(relation.data(), relation.data() + edges)} + 1;
        expect(edge_checksum(indptr.data(), source.data(), nodes, true) ==
                   edge_checksum(out_indptr.data(), target.data(), nodes, false),
               "out_indptr and target are not the transpose of indptr and source");
        order.emplace(graph());
    }

    int64_t relations = 0;  // so many representations the edges ask for, at least

    int64_t nodes() const { return length(indptr) - 1; }
    Graph graph() const {
        return {nodes(),         length(source),    indptr.data(), source.data(),
                relation.data(), out_indptr.data(), target.data(), order ? &*order : nullptr,
                serial};
    }

  private:
    inline static std::atomic<int64_t> next_serial{1};

    In<int64_t> indptr;
    In<int32_t> source, relation;
    In<int64_t> out_indptr;
    In<int32_t> target;
    std::optional<DegreeOrder> order;
    int64_t serial = next_serial++;
};

// A plan's rows read each other along the edges it was made for: other edges would lead to rows that are not there.
inline void expect_plan_of(const RowPlan &plan, const Graph &graph, int64_t iteration) {
    expect(plan.graph == graph.serial, "the plan was made for another graph");
    expect(iteration >= 1 && iteration <= plan.iterations,
           "the iteration is " + std::to_string(iteration) + ", expected 1 to " + std::to_string(plan.iterations));
    // A plan may have more, to tell that a batch is too large; what computes rows numbers them by int32_t.
    const int64_t rows = plan.levels[iteration - 1].rows();
    expect(rows <= most_ids,
           std::to_string(rows) + " rows in one iteration are more than 2^31 - 1: ask fewer queries at once");
}

}  // namespace nbfnet
