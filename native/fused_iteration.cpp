// Fused iterations as Python calls them: arrays come as addresses, which the caller has checked and keeps.
#include "fused_iteration.hpp"

#include <algorithm>
#include <nanobind/stl/string.h>
#include <nanobind/stl/vector.h>

#include "bindings.hpp"
#include "graph_arrays.hpp"
#include "instruction_set.hpp"
#include "operator_names.hpp"

namespace nb = nanobind;
using namespace nb::literals;

namespace nbfnet {

#define NBFNET_DECLARE_FUSED(isa)                   \
    namespace isa {                                 \
    extern const FusedKernels<float> fused_float;   \
    extern const FusedKernels<double> fused_double; \
    }
NBFNET_DECLARE_FUSED(baseline)
#if defined(__x86_64__)
NBFNET_DECLARE_FUSED(avx2)
NBFNET_DECLARE_FUSED(avx512)
#endif

namespace {

template <class Scalar>
const FusedKernels<Scalar> &kernels() {
    auto pick = [](const FusedKernels<float> &f, const FusedKernels<double> &d) -> const FusedKernels<Scalar> & {
        if constexpr (sizeof(Scalar) == sizeof(float)) return f;
        else return d;
    };
#if defined(__x86_64__)
    if (instruction_set() == InstructionSet::avx512) return pick(avx512::fused_float, avx512::fused_double);
    if (instruction_set() == InstructionSet::avx2) return pick(avx2::fused_float, avx2::fused_double);
#endif
    return pick(baseline::fused_float, baseline::fused_double);
}

using Addresses = std::vector<uintptr_t>;
constexpr int64_t most_dims = 1 << 20;

struct Options {
    Message message;
    Aggregate aggregate;
    bool layer_norm, shortcut, wants_zero_gradient;
    int threads;
    int64_t dim, relations;
};

// inputs: previous, relation, weight, bias, norm_weight, norm_bias, query, zero, scale
template <class Scalar>
FusedCall<Scalar> make_call(const RowPlan &plan, const Graph &graph, int64_t iteration, const WorkShares &shares,
                            const Options &o, const Addresses &inputs) {
    auto at = [&](int i) { return reinterpret_cast<const Scalar *>(inputs.at(i)); };
    FusedCall<Scalar> call{};
    call.plan = &plan;
    call.graph = graph;
    call.iteration = iteration;
    call.shares = &shares;
    call.previous = at(0);
    call.wants_zero_gradient = o.wants_zero_gradient;
    call.layer = {o.dim, o.relations, o.layer_norm, o.shortcut, at(1), at(2), at(3), at(4), at(5), at(6), at(7), at(8)};
    return call;
}

template <class Scalar>
void forward(const RowPlan &plan, const Graph &graph, int64_t iteration, const Options &o, const Addresses &inputs,
             uintptr_t out) {
    const WorkShares shares = share_work(plan, graph, iteration, o.threads);
    FusedCall<Scalar> call = make_call<Scalar>(plan, graph, iteration, shares, o, inputs);
    call.out = reinterpret_cast<Scalar *>(out);
    kernels<Scalar>().forward[static_cast<int>(o.message)][static_cast<int>(o.aggregate)](call);
}

// The caller checks the shapes behind the addresses; how many there are is checked here.
void expect_call(const RowPlan &plan, const GraphArrays &graph, int64_t iteration, const Options &o) {
    expect_plan_of(plan, graph.graph(), iteration);
    expect(o.relations >= graph.relations, "the options have " + std::to_string(o.relations) + " relations, the edges " +
                                               std::to_string(graph.relations));
}

void expect_addresses(const char *name, const Addresses &addresses, size_t count) {
    expect_length(name, static_cast<int64_t>(addresses.size()), static_cast<int64_t>(count));
    // The first may be of no rows, the second of no relations.
    expect(std::find(addresses.begin() + 2, addresses.end(), 0) == addresses.end(),
           std::string(name) + " holds a null address");
}

// gradients: of previous, relation, weight, bias, norm_weight, norm_bias, query, zero; all zero before
template <class Scalar>
void backward(const RowPlan &plan, const Graph &graph, int64_t iteration, const Options &o, const Addresses &inputs,
              uintptr_t grad_out, const Addresses &gradients) {
    const WorkShares shares = share_work(plan, graph, iteration, o.threads);
    FusedCall<Scalar> call = make_call<Scalar>(plan, graph, iteration, shares, o, inputs);
    auto at = [&](int i) { return reinterpret_cast<Scalar *>(gradients.at(i)); };
    call.grad_out = reinterpret_cast<const Scalar *>(grad_out);
    call.grad_previous = at(0);
    call.gradient = {at(1), at(2), at(3), at(4), at(5), at(6), at(7)};
    kernels<Scalar>().backward[static_cast<int>(o.message)][static_cast<int>(o.aggregate)](call);
}

}  // namespace
}  // namespace nbfnet

void bind_fused_iteration(nb::module_ &m) {
    using namespace nbfnet;
    nb::class_<Options>(m, "FusedOptions")
        .def("__init__",
             [](Options *self, const std::string &message, const std::string &aggregate, bool layer_norm, bool shortcut,
                bool wants_zero_gradient, int threads, int64_t dim, int64_t relations) {
                 expect(dim >= 1 && dim <= most_dims, "dim is " + std::to_string(dim));
                 expect(relations >= 0 && relations <= most_ids, "relations is " + std::to_string(relations));
                 expect_threads(threads);
                 expect(message != "rotate" || dim % 2 == 0, "the message 'rotate' needs an even dim");
                 new (self) Options{message_named(message), aggregate_named(aggregate), layer_norm, shortcut,
                                    wants_zero_gradient, threads, dim, relations};
             },
             "message"_a, "aggregate"_a, "layer_norm"_a, "shortcut"_a, "wants_zero_gradient"_a, "threads"_a, "dim"_a, "relations"_a);
    m.def("fused_forward",
          [](const RowPlan &plan, const GraphArrays &graph, int64_t iteration, const Options &options, bool is_double,
             const Addresses &inputs, uintptr_t out) {
              expect_call(plan, graph, iteration, options);
              expect_addresses("inputs", inputs, 9);
              expect(out != 0 || plan.levels[iteration].rows() == 0, "out is a null address");
              nb::gil_scoped_release release;
              (is_double ? &forward<double> : &forward<float>)(plan, graph.graph(), iteration, options, inputs, out);
          },
          "plan"_a, "graph"_a, "iteration"_a, "options"_a, "is_double"_a, "inputs"_a, "out"_a);
    m.def("fused_backward",
          [](const RowPlan &plan, const GraphArrays &graph, int64_t iteration, const Options &options, bool is_double,
             const Addresses &inputs, uintptr_t grad_out, const Addresses &gradients) {
              expect_call(plan, graph, iteration, options);
              expect_addresses("inputs", inputs, 9);
              expect_addresses("gradients", gradients, 8);
              expect(grad_out != 0 || plan.levels[iteration].rows() == 0, "grad_out is a null address");
              nb::gil_scoped_release release;
              (is_double ? &backward<double> : &backward<float>)(plan, graph.graph(), iteration, options, inputs,
                                                                 grad_out, gradients);
          },
          "plan"_a, "graph"_a, "iteration"_a, "options"_a, "is_double"_a, "inputs"_a, "grad_out"_a, "gradients"_a);
}
