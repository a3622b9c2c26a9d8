// The classical algorithm and the search for paths, as Python calls them.
#include <nanobind/stl/tuple.h>
#include <nanobind/stl/vector.h>
#include <algorithm>
#include <cmath>
#include <string>
#include <vector>

#include "memory/parallel.hpp"
#include "paths/beam_search.hpp"
#include "paths/bellman_ford.hpp"
#include "python/checks.hpp"

namespace nb = nanobind;
using namespace nb::literals;

namespace nbfnet {
namespace {

// scores (source, node). Returns whether all of them have settled.
bool solve(int32_t semiring, In<int64_t> begin, In<int32_t> source, In<double> weight, In<int64_t> out_begin,
           In<int32_t> target, In<double> out_weight, In<double> factor, double uniform, In<int32_t> rank,
           In<int32_t> sources, int64_t iterations, bool until_convergence, double tolerance, int threads,
           Out<double, 2> scores) {
    const int64_t nodes = expect_rows("begin", begin), edges = length(source), count = length(sources);
    const bool weighted = length(weight) > 0;
    expect(semiring >= 0 && semiring <= static_cast<int32_t>(PathSemiring::max_times),
           "there is no semiring " + std::to_string(semiring));
    expect_runs("begin", begin, nodes, edges);
    expect_ids("source", source, nodes);
    expect_length("target", length(target), edges);
    expect_runs("out_begin", out_begin, nodes, edges);
    expect_ids("target", target, nodes);
    if (weighted) expect_length("weight", length(weight), edges);
    expect_length("out_weight", length(out_weight), length(weight));
    if (length(factor) > 0) expect_length("factor", length(factor), nodes);
    expect_length("rank", length(rank), nodes);
    expect_ids("rank", rank, nodes);
    expect_ids("sources", sources, nodes);
    expect(iterations >= 0, "iterations is " + std::to_string(iterations) + ", expected 0 or more");
    expect_threads(threads);
    expect_shape("scores", scores, {count, nodes});
    const PathRequest request{
        static_cast<PathSemiring>(semiring),
        {nodes, begin.data(), source.data(), weighted ? weight.data() : nullptr, out_begin.data(), target.data(),
         weighted ? out_weight.data() : nullptr, length(factor) > 0 ? factor.data() : nullptr, uniform},
        rank.data(),
        sources.data(),
        count,
        {iterations, until_convergence, tolerance},
        threads};
    bool interrupted = false, settled = false;
    {
        nb::gil_scoped_release release;
        settled = bellman_ford(
            request,
            [&] {
                nb::gil_scoped_acquire acquire;
                return interrupted = PyErr_CheckSignals() != 0;
            },
            scores.data());
    }
    if (interrupted) throw nb::python_error();
    return settled;
}

void multiply(In<int64_t> begin, In<int32_t> source, In<double> weight, In<double> x, Out<double> product) {
    const int64_t rows = expect_rows("begin", begin);
    expect_runs("begin", begin, rows, length(source));
    expect_ids("source", source, rows);
    expect_length("weight", length(weight), length(source));
    expect_length("x", length(x), rows);
    expect_length("product", length(product), rows);
    nb::gil_scoped_release release;
    multiply_rows({rows, begin.data(), source.data(), weight.data(), nullptr, nullptr, nullptr, nullptr, 1.0}, x.data(),
                  product.data());
}

// The paths, best first: their weights and the slots of their edges.
std::tuple<std::vector<double>, std::vector<std::vector<int64_t>>> search_paths(In<int64_t> indptr, In<int32_t> source,
                                                                                In<double, 2> importance,
                                                                                In<int32_t> distance, int32_t start,
                                                                                int32_t answer, int64_t beam,
                                                                                int64_t count, int threads) {
    const int64_t nodes = expect_rows("indptr", indptr), slots_of_all = length(source), iterations = length(importance);
    expect_runs("indptr", indptr, nodes, slots_of_all);
    expect_ids("source", source, nodes);
    expect_length("each iteration of importance", length(importance, 1), slots_of_all);
    const auto is_finite = [](double weight) { return std::isfinite(weight); };
    expect(std::all_of(importance.data(), importance.data() + importance.size(), is_finite),
           "importance holds a value that is not finite");
    expect(iterations <= most_ids, "importance has " + std::to_string(iterations) + " iterations");
    expect_length("distance", length(distance), nodes);
    expect_id("start", start, nodes);
    expect_id("answer", answer, nodes);
    expect(beam >= 1 && count >= 1, "beam and count must be at least 1");
    expect_threads(threads);
    const BeamRequest request{
        nodes,           slots_of_all, iterations, indptr.data(), source.data(), importance.data(),
        distance.data(), start,        answer,     beam,          count,         threads};
    std::vector<double> weights;
    std::vector<std::vector<int64_t>> slots;
    nb::gil_scoped_release release;
    const PathList found = beam_search(request);
    for (int64_t i = 0; i < found.size(); ++i) {
        weights.push_back(found.weight(i));
        slots.emplace_back(found.slots(i), found.slots(i) + found.length(i));
    }
    return {std::move(weights), std::move(slots)};
}

}  // namespace
}  // namespace nbfnet

void bind_paths(nb::module_ &m) {
    using namespace nbfnet;
    m.def("default_threads", &default_threads);
    m.def("bellman_ford", &solve, "semiring"_a, "begin"_a.noconvert(), "source"_a.noconvert(), "weight"_a.noconvert(),
          "out_begin"_a.noconvert(), "target"_a.noconvert(), "out_weight"_a.noconvert(), "factor"_a.noconvert(),
          "uniform"_a, "rank"_a.noconvert(), "sources"_a.noconvert(), "iterations"_a, "until_convergence"_a,
          "tolerance"_a, "threads"_a, "scores"_a.noconvert());
    m.def("multiply_rows", &multiply, "begin"_a.noconvert(), "source"_a.noconvert(), "weight"_a.noconvert(),
          "x"_a.noconvert(), "product"_a.noconvert());
    m.def("beam_search", &search_paths, "indptr"_a.noconvert(), "source"_a.noconvert(), "importance"_a.noconvert(),
          "distance"_a.noconvert(), "start"_a, "answer"_a, "beam"_a, "count"_a, "threads"_a);
}
