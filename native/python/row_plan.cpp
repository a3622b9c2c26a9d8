// Row plans as Python sees them.
#include <nanobind/stl/tuple.h>
#include <nanobind/stl/vector.h>
#include <algorithm>

#include "python/bindings.hpp"
#include "python/graph_arrays.hpp"
#include "python/results.hpp"

namespace nb = nanobind;
using namespace nb::literals;

namespace nbfnet {
namespace {

template <class T>
std::vector<T> to_vector(const In<T> &array) {
    return {array.data(), array.data() + array.shape(0)};
}

template <class T>
NumPy<T> to_numpy(std::vector<T> values) {
    return kept(std::move(values));
}

RowPlan plan_rows(const GraphArrays &graph, int64_t iterations, int64_t families, In<int32_t> source,
                  In<int32_t> family, In<int64_t> target_begin, In<int32_t> target, In<int64_t> changed_begin,
                  In<int32_t> changed, bool frontier, bool background_given, int threads) {
    const int64_t queries = length(source);
    expect(iterations >= 1 && iterations <= most_iterations,
           "iterations is " + std::to_string(iterations) + ", expected 1 to " + std::to_string(most_iterations));
    expect(families >= 0 && families <= most_ids, "families is " + std::to_string(families));
    expect_threads(threads);
    expect_ids("source", source, graph.nodes());
    expect_length("family", length(family), queries);
    expect_ids("family", family, families);
    if (length(target_begin) > 0) expect_runs("target_begin", target_begin, queries, length(target));
    else expect_length("target", length(target), 0);
    expect_ids("target", target, graph.nodes());
    if (length(changed_begin) > 0) expect_runs("changed_begin", changed_begin, queries, length(changed));
    else expect_length("changed", length(changed), 0);
    expect_ids("changed", changed, graph.nodes());
    expect(length(changed_begin) == 0 || (frontier && background_given && length(target_begin) > 0),
           "changed nodes need a frontier, a background that is given, and targets");
    const PlanRequest request{graph.graph(),      iterations,
                              families,           to_vector(source),
                              to_vector(family),  to_vector(target_begin),
                              to_vector(target),  to_vector(changed_begin),
                              to_vector(changed), frontier,
                              background_given,   threads};
    nb::gil_scoped_release release;
    return make_plan(request);
}

// The in-edges of every row of an iteration: indptr (row + 1), the row of the iteration before that each edge starts
// from, and its relation as family * relations + r. The zero row stands behind the last row of the iteration before.
std::tuple<NumPy<int64_t>, NumPy<int32_t>, NumPy<int32_t>, NumPy<int32_t>> row_edges(const RowPlan &plan,
                                                                                     const GraphArrays &arrays,
                                                                                     int64_t iteration,
                                                                                     int64_t relations) {
    const Graph g = arrays.graph();
    expect_plan_of(plan, g, iteration);
    expect(relations >= arrays.relations,
           "relations is " + std::to_string(relations) + ", the edges have " + std::to_string(arrays.relations));
    expect(relations <= most_ids / std::max<int64_t>(plan.families, 1),
           std::to_string(plan.families) + " families of " + std::to_string(relations) +
               " relations are more than 2^31 - 1 edge representations: ask fewer queries at once");
    const Level &level = plan.levels.at(iteration), &before = plan.levels.at(iteration - 1);
    std::vector<int64_t> indptr{0};
    std::vector<int32_t> source, relation, own;
    std::vector<int32_t> row_of(g.nodes, -1);
    const int32_t zero = static_cast<int32_t>(before.rows());
    auto mark = [&](int64_t group, bool set) {
        for (int64_t i = before.begin[group]; i < before.begin[group + 1]; ++i)
            row_of[before.node[i]] = set ? static_cast<int32_t>(i) : -1;
    };
    auto row = [&](int32_t node) { return row_of[node] < 0 ? zero : row_of[node]; };
    for (int64_t group = 0; group < plan.groups(); ++group) {
        mark(plan.background(group), true);
        mark(group, true);
        for (int64_t i = level.begin[group]; i < level.begin[group + 1]; ++i) {
            const int32_t v = level.node[i];
            own.push_back(row(v));
            for (int64_t e = g.indptr[v]; e < g.indptr[v + 1]; ++e) {
                source.push_back(row(g.source[e]));
                relation.push_back(static_cast<int32_t>(plan.family[group] * relations + g.relation[e]));
            }
            indptr.push_back(static_cast<int64_t>(source.size()));
        }
        mark(group, false);
        mark(plan.background(group), false);
    }
    return {to_numpy(indptr), to_numpy(source), to_numpy(relation), to_numpy(own)};
}

}  // namespace
}  // namespace nbfnet

void bind_row_plan(nb::module_ &m) {
    using namespace nbfnet;
    nb::class_<GraphArrays>(m, "GraphArrays")
        .def(
            "__init__",
            [](GraphArrays *self, In<int64_t> indptr, In<int32_t> source, In<int32_t> relation, In<int64_t> out_indptr,
               In<int32_t> target) { new (self) GraphArrays{indptr, source, relation, out_indptr, target}; },
            "indptr"_a.noconvert(), "source"_a.noconvert(), "relation"_a.noconvert(), "out_indptr"_a.noconvert(),
            "target"_a.noconvert())
        .def_prop_ro("nodes", &GraphArrays::nodes)
        .def_ro("relations", &GraphArrays::relations);
    nb::class_<RowPlan>(m, "RowPlan")
        .def_ro("queries", &RowPlan::queries)
        .def_ro("families", &RowPlan::families)
        .def_ro("iterations", &RowPlan::iterations)
        .def_ro("edges", &RowPlan::edges)
        .def(
            "rows", [](const RowPlan &plan, int64_t t) { return plan.levels.at(t).rows(); }, "iteration"_a)
        .def(
            "begin", [](const RowPlan &plan, int64_t t) { return to_numpy(plan.levels.at(t).begin); }, "iteration"_a)
        .def(
            "node", [](const RowPlan &plan, int64_t t) { return to_numpy(plan.levels.at(t).node); }, "iteration"_a)
        .def("target_row", [](const RowPlan &plan) { return to_numpy(plan.target_row); });
    m.def("plan_rows", &plan_rows, "graph"_a, "iterations"_a, "families"_a, "source"_a.noconvert(),
          "family"_a.noconvert(), "target_begin"_a.noconvert(), "target"_a.noconvert(), "changed_begin"_a.noconvert(),
          "changed"_a.noconvert(), "frontier"_a, "background_given"_a, "threads"_a);
    m.def("row_edges", &row_edges, "plan"_a, "graph"_a, "iteration"_a, "relations"_a);
}
