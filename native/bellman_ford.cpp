// The generalized Bellman-Ford algorithm from many sources: panels of sources, solved side by side or one by one.
#include <algorithm>
#include <atomic>
#include <chrono>
#include <cstdint>
#include <limits>
#include <memory>
#include <new>
#ifdef _OPENMP
#include <omp.h>
#endif

#include "checks.hpp"
#include "hop_search.hpp"
#include "instruction_set.hpp"
#include "panel_solver.hpp"

namespace nb = nanobind;

namespace nbfnet {

namespace {

constexpr int64_t side_by_side_memory = int64_t{1} << 30;  // bytes of panels that may be alive at once
constexpr int64_t worth_a_thread = 500'000;  // rows and edges, about 0.2 ms: less is not worth waking a thread for

PathLoops loops_of_instruction_set(PathSemiring semiring, int32_t width, bool weighted) {
#if defined(__x86_64__)
    if (instruction_set() == InstructionSet::avx512) return avx512::path_loops(semiring, width, weighted);
    if (instruction_set() == InstructionSet::avx2) return avx2::path_loops(semiring, width, weighted);
#endif
    return baseline::path_loops(semiring, width, weighted);
}

// As many threads as OMP_NUM_THREADS says, or else as many as there are processor cores for this process.
int32_t default_threads() {
#ifdef _OPENMP
    return omp_get_max_threads();
#else
    return 1;
#endif
}

// Wide panels share the reading of an edge; the memory of a very large graph only allows narrow ones.
int32_t panel_width(int64_t sources, int64_t rows) {
    if (sources > 8 && rows <= 4'000'000) return 16;
    return sources > 1 && rows <= 16'000'000 ? 8 : 1;
}

// Asks Python now and then whether Ctrl-C was pressed; only the calling thread may ask, the others read the answer.
class Interruption {
public:
    bool operator()(bool calling_thread) {
        if (calling_thread) {
            const auto now = std::chrono::steady_clock::now();
            if (now - last_ > std::chrono::milliseconds(100)) {
                last_ = now;
                nb::gil_scoped_acquire acquire;
                if (PyErr_CheckSignals() != 0) pressed_ = true;
            }
        }
        return pressed_;
    }
    bool pressed() const { return pressed_; }

private:
    std::chrono::steady_clock::time_point last_ = std::chrono::steady_clock::now();
    std::atomic<bool> pressed_{false};
};

Boundary boundary_of(const int32_t *sources, int32_t lanes, const int32_t *rank) {
    Boundary boundary;
    boundary.lanes = lanes;
    std::pair<int64_t, int32_t> starts[16];
    for (int32_t lane = 0; lane < lanes; ++lane) starts[lane] = {rank[sources[lane]], lane};
    std::sort(starts, starts + lanes);
    for (int32_t i = 0; i < lanes; ++i) {
        boundary.row[i] = starts[i].first;
        boundary.lane[i] = starts[i].second;
    }
    boundary.row[lanes] = std::numeric_limits<int64_t>::max();
    return boundary;
}

void write_scores(const PanelSolver &solver, const PathLoops &loops, const int32_t *rank, int64_t nodes,
                  int32_t lanes, int32_t threads, double *scores) {
    const double *values = solver.values();
#pragma omp parallel for num_threads(threads) schedule(static)
    for (int64_t node = 0; node < nodes; ++node) {
        const double *row = values + static_cast<int64_t>(rank[node]) * loops.width;
        for (int32_t lane = 0; lane < lanes; ++lane) scores[lane * nodes + node] = row[lane];
    }
}

// scores (source, node). Returns whether all of them have settled.
bool bellman_ford(int32_t semiring, In<int64_t> begin, In<int32_t> source, In<double> weight, In<int64_t> out_begin,
                  In<int32_t> target, In<double> out_weight, In<double> factor, double uniform, In<int32_t> rank,
                  In<int32_t> sources, int64_t iterations, bool until_convergence, double tolerance, int32_t threads,
                  Out<double, 2> scores) {
    const int64_t nodes = expect_rows("begin", begin), edge_count = length(source), count = length(sources);
    const bool weighted = length(weight) > 0;
    expect(semiring >= 0 && semiring <= static_cast<int32_t>(PathSemiring::max_times),
           "there is no semiring " + std::to_string(semiring));
    expect_runs("begin", begin, nodes, edge_count);
    expect_ids("source", source, nodes);
    expect_length("target", length(target), edge_count);
    expect_runs("out_begin", out_begin, nodes, edge_count);
    expect_ids("target", target, nodes);
    if (weighted) expect_length("weight", length(weight), edge_count);
    expect_length("out_weight", length(out_weight), length(weight));
    if (length(factor) > 0) expect_length("factor", length(factor), nodes);
    expect_length("rank", length(rank), nodes);
    expect_ids("rank", rank, nodes);
    expect_ids("sources", sources, nodes);
    expect(iterations >= 0, "iterations is " + std::to_string(iterations) + ", expected 0 or more");
    expect_threads(threads);
    expect(length(scores, 0) == count && length(scores, 1) == nodes,
           "scores is (" + std::to_string(length(scores, 0)) + ", " + std::to_string(length(scores, 1)) +
               "), expected (" + std::to_string(count) + ", " + std::to_string(nodes) + ")");
    const PathEdges edges{nodes,
                          begin.data(),
                          source.data(),
                          weighted ? weight.data() : nullptr,
                          out_begin.data(),
                          target.data(),
                          weighted ? out_weight.data() : nullptr,
                          factor.shape(0) > 0 ? factor.data() : nullptr,
                          uniform};
    const int32_t width = panel_width(count, nodes);
    const PathLoops loops = loops_of_instruction_set(static_cast<PathSemiring>(semiring), width, weighted);
    const int64_t panels = (count + width - 1) / width;
    // A panel a thread needs no waiting for each other, but memory for all.
    const int64_t panel_bytes = 2 * nodes * width * static_cast<int64_t>(sizeof(double));
    const bool side_by_side = panels >= threads && panel_bytes * threads <= side_by_side_memory;
    const double work = static_cast<double>(edge_count + nodes) * std::max(1, width / 4) * (side_by_side ? panels : 1);
    threads = static_cast<int32_t>(std::clamp<double>(work / worth_a_thread, 1, threads));
    const bool counts_hops = static_cast<PathSemiring>(semiring) == PathSemiring::min_plus && width == 1 && !weighted &&
                             !edges.factor && uniform > 0;
    const int32_t outer = side_by_side ? threads : 1, inner = side_by_side ? 1 : threads;
    const Stopping stopping{iterations, until_convergence, tolerance};
    Interruption interruption;
    std::atomic<bool> settled{true}, out_of_memory{false};
    double *out = scores.data();
    {
        nb::gil_scoped_release release;
#pragma omp parallel num_threads(outer)
        {
            bool calling_thread = false;
#pragma omp master
            calling_thread = true;
            std::unique_ptr<PanelSolver> solver;  // reuses its panels
            std::unique_ptr<HopSearch> search;
#pragma omp for schedule(dynamic, 1)
            for (int64_t panel = 0; panel < panels; ++panel) {
                if (interruption.pressed() || out_of_memory) continue;
                const int64_t first = panel * width;
                const int32_t lanes = static_cast<int32_t>(std::min<int64_t>(width, count - first));
                const Boundary boundary = boundary_of(sources.data() + first, lanes, rank.data());
                try {
                    if (counts_hops) {
                        if (!search) search = std::make_unique<HopSearch>(edges);
                        if (!search->solve(boundary.row[0], iterations, [&] { return interruption(calling_thread); })) {
                            settled = false;
                        }
                        search->write_scores(rank.data(), nodes, out + first * nodes);
                        continue;
                    }
                    if (!solver) solver = std::make_unique<PanelSolver>(edges, loops, inner);
                    if (!solver->solve(boundary, stopping, [&] { return interruption(calling_thread); })) {
                        settled = false;
                    }
                    write_scores(*solver, loops, rank.data(), nodes, lanes, inner, out + first * nodes);
                } catch (const std::bad_alloc &) {  // must not leave the parallel region
                    out_of_memory = true;
                }
            }
        }
    }
    if (interruption.pressed()) throw nb::python_error();
    if (out_of_memory) throw std::bad_alloc();
    return settled;
}

// product = Ax for the matrix whose rows are a graph's rows.
void multiply_rows(In<int64_t> begin, In<int32_t> source, In<double> weight, In<double> x, Out<double> product) {
    const int64_t rows = expect_rows("begin", begin);
    expect_runs("begin", begin, rows, length(source));
    expect_ids("source", source, rows);
    expect_length("weight", length(weight), length(source));
    expect_length("x", length(x), rows);
    expect_length("product", length(product), rows);
    const PathEdges edges{rows, begin.data(), source.data(), weight.data(), nullptr, nullptr, nullptr, nullptr, 1.0};
    const PathLoops loops = loops_of_instruction_set(PathSemiring::plus_times, 1, true);
    Boundary none;
    none.lanes = 0;
    none.row[0] = std::numeric_limits<int64_t>::max();
    nb::gil_scoped_release release;
    loops.pull(edges, none, 0, rows, x.data(), product.data(), nullptr, 0.0);
}

}  // namespace

}  // namespace nbfnet

void bind_bellman_ford(nb::module_ &m) {
    m.def("default_threads", &nbfnet::default_threads);
    m.def("bellman_ford", &nbfnet::bellman_ford, nb::arg("semiring"), nb::arg("begin").noconvert(),
          nb::arg("source").noconvert(), nb::arg("weight").noconvert(), nb::arg("out_begin").noconvert(),
          nb::arg("target").noconvert(), nb::arg("out_weight").noconvert(), nb::arg("factor").noconvert(),
          nb::arg("uniform"), nb::arg("rank").noconvert(), nb::arg("sources").noconvert(), nb::arg("iterations"),
          nb::arg("until_convergence"), nb::arg("tolerance"), nb::arg("threads"), nb::arg("scores").noconvert());
    m.def("multiply_rows", &nbfnet::multiply_rows, nb::arg("begin").noconvert(), nb::arg("source").noconvert(),
          nb::arg("weight").noconvert(), nb::arg("x").noconvert(), nb::arg("product").noconvert());
}
