// Fused iterations as Python calls them.
#include "fused/iteration.hpp"

#include <nanobind/stl/optional.h>
#include <nanobind/stl/string.h>
#include <optional>

#include "python/graph_arrays.hpp"
#include "simd/instruction_set.hpp"

namespace nb = nanobind;
using namespace nb::literals;

namespace nbfnet {
namespace {

constexpr int64_t most_dims = 1 << 20;

Message message_named(const std::string &name) {
    if (name == "transe") return Message::transe;
    if (name == "distmult") return Message::distmult;
    if (name == "rotate") return Message::rotate;
    throw nb::value_error(("no kernel for the message '" + name + "'").c_str());
}

Aggregate aggregate_named(const std::string &name) {
    if (name == "sum") return Aggregate::sum;
    if (name == "mean") return Aggregate::mean;
    if (name == "max") return Aggregate::max;
    if (name == "pna") return Aggregate::pna;
    throw nb::value_error(("no kernel for the aggregate '" + name + "'").c_str());
}

struct Options {
    Message message;
    Aggregate aggregate;
    bool layer_norm, shortcut, wants_zero_gradient;
    int threads;
};

template <class Scalar>
using Weights = std::optional<In<Scalar>>;

// The shapes are those of Layer and FusedCall.
template <class Scalar>
FusedCall<Scalar> make_call(const RowPlan &plan, const GraphArrays &graph, int64_t iteration, const Options &options,
                            const In<Scalar, 2> &previous, const In<Scalar, 3> &edge_representation,
                            const In<Scalar, 2> &weight, const In<Scalar> &bias, const In<Scalar> &norm_weight,
                            const In<Scalar> &norm_bias, const In<Scalar, 2> &query, const In<Scalar> &zero,
                            const In<Scalar> &scale, const Weights<Scalar> &edge_weight) {
    expect_plan_of(plan, graph.graph(), iteration);
    const int64_t relations = length(edge_representation, 1), dim = length(edge_representation, 2);
    expect(dim >= 1 && dim <= most_dims, "edge_representation has " + std::to_string(dim) + " dims");
    expect(options.message != Message::rotate || dim % 2 == 0,
           "the message 'rotate' needs an even dim, not " + std::to_string(dim));
    expect_shape("edge_representation", edge_representation, {plan.families, relations, dim});
    expect(relations >= graph.relations, "edge_representation has " + std::to_string(relations) +
                                             " relations, expected at least the " + std::to_string(graph.relations) +
                                             " of the edges");
    expect_shape("previous", previous, {plan.levels[iteration - 1].rows(), dim});
    expect_shape("weight", weight, {dim, dim + (options.aggregate == Aggregate::pna ? 12 : 1) * dim});
    expect_shape("bias", bias, {dim});
    expect_shape("norm_weight", norm_weight, {dim});
    expect_shape("norm_bias", norm_bias, {dim});
    expect_shape("query", query, {plan.queries, dim});
    expect_shape("zero", zero, {dim});
    expect_shape("scale", scale, {graph.nodes()});
    if (edge_weight) expect_shape("edge_weight", *edge_weight, {graph.graph().edges});
    FusedCall<Scalar> call{};
    call.plan = &plan;
    call.graph = graph.graph();
    call.iteration = iteration;
    call.previous = previous.data();
    call.wants_zero_gradient = options.wants_zero_gradient;
    call.layer = {options.message,
                  options.aggregate,
                  options.layer_norm,
                  options.shortcut,
                  dim,
                  relations,
                  edge_representation.data(),
                  weight.data(),
                  bias.data(),
                  norm_weight.data(),
                  norm_bias.data(),
                  query.data(),
                  zero.data(),
                  scale.data(),
                  edge_weight ? edge_weight->data() : nullptr};
    return call;
}

template <class Scalar>
void forward(const RowPlan &plan, const GraphArrays &graph, int64_t iteration, const Options &options,
             In<Scalar, 2> previous, In<Scalar, 3> edge_representation, In<Scalar, 2> weight, In<Scalar> bias,
             In<Scalar> norm_weight, In<Scalar> norm_bias, In<Scalar, 2> query, In<Scalar> zero, In<Scalar> scale,
             Weights<Scalar> edge_weight, Out<Scalar, 2> out) {
    FusedCall<Scalar> call = make_call<Scalar>(plan, graph, iteration, options, previous, edge_representation, weight,
                                               bias, norm_weight, norm_bias, query, zero, scale, edge_weight);
    expect_shape("out", out, {plan.levels[iteration].rows(), call.layer.dim});
    call.out = out.data();
    nb::gil_scoped_release release;
    const WorkShares shares = share_work(plan, call.graph, iteration, options.threads);
    call.shares = &shares;
    if constexpr (std::is_same_v<Scalar, float>) {
#if defined(__x86_64__)
        if (instruction_set() == InstructionSet::avx512) return avx512::fused_forward(call);
        if (instruction_set() == InstructionSet::avx2) return avx2::fused_forward(call);
#endif
    }
    baseline::fused_forward(call);
}

// The gradients are added to.
template <class Scalar>
void backward(const RowPlan &plan, const GraphArrays &graph, int64_t iteration, const Options &options,
              In<Scalar, 2> previous, In<Scalar, 3> edge_representation, In<Scalar, 2> weight, In<Scalar> bias,
              In<Scalar> norm_weight, In<Scalar> norm_bias, In<Scalar, 2> query, In<Scalar> zero, In<Scalar> scale,
              Weights<Scalar> edge_weight, In<Scalar, 2> grad_out, Out<Scalar, 2> grad_previous,
              Out<Scalar, 3> grad_edge_representation, Out<Scalar, 2> grad_weight, Out<Scalar> grad_bias,
              Out<Scalar> grad_norm_weight, Out<Scalar> grad_norm_bias, Out<Scalar, 2> grad_query,
              Out<Scalar> grad_zero, std::optional<Out<Scalar>> grad_edge_weight) {
    FusedCall<Scalar> call = make_call<Scalar>(plan, graph, iteration, options, previous, edge_representation, weight,
                                               bias, norm_weight, norm_bias, query, zero, scale, edge_weight);
    const int64_t dim = call.layer.dim;
    expect_shape("grad_out", grad_out, {plan.levels[iteration].rows(), dim});
    expect_shape("grad_previous", grad_previous, {length(previous), dim});
    expect_shape("grad_edge_representation", grad_edge_representation, {plan.families, call.layer.relations, dim});
    expect_shape("grad_weight", grad_weight, {dim, length(weight, 1)});
    expect_shape("grad_bias", grad_bias, {dim});
    expect_shape("grad_norm_weight", grad_norm_weight, {dim});
    expect_shape("grad_norm_bias", grad_norm_bias, {dim});
    expect_shape("grad_query", grad_query, {plan.queries, dim});
    expect_shape("grad_zero", grad_zero, {dim});
    expect(edge_weight.has_value() == grad_edge_weight.has_value(),
           "edge_weight and its gradient are both there, or neither");
    if (grad_edge_weight) expect_shape("grad_edge_weight", *grad_edge_weight, {call.graph.edges});
    call.grad_out = grad_out.data();
    call.grad_previous = grad_previous.data();
    call.gradient = {grad_edge_representation.data(),
                     grad_weight.data(),
                     grad_bias.data(),
                     grad_norm_weight.data(),
                     grad_norm_bias.data(),
                     grad_query.data(),
                     grad_zero.data(),
                     grad_edge_weight ? grad_edge_weight->data() : nullptr};
    nb::gil_scoped_release release;
    const WorkShares shares = share_work(plan, call.graph, iteration, options.threads);
    call.shares = &shares;
    if constexpr (std::is_same_v<Scalar, float>) {
#if defined(__x86_64__)
        if (instruction_set() == InstructionSet::avx512) return avx512::fused_backward(call);
        if (instruction_set() == InstructionSet::avx2) return avx2::fused_backward(call);
#endif
    }
    baseline::fused_backward(call);
}

// No argument may be converted: the two types of number are told apart by them.
template <class Scalar>
void bind_for(nb::module_ &m) {
    m.def("fused_forward", &forward<Scalar>, "plan"_a, "graph"_a, "iteration"_a, "options"_a, "previous"_a.noconvert(),
          "edge_representation"_a.noconvert(), "weight"_a.noconvert(), "bias"_a.noconvert(),
          "norm_weight"_a.noconvert(), "norm_bias"_a.noconvert(), "query"_a.noconvert(), "zero"_a.noconvert(),
          "scale"_a.noconvert(), "edge_weight"_a.noconvert().none(), "out"_a.noconvert());
    m.def("fused_backward", &backward<Scalar>, "plan"_a, "graph"_a, "iteration"_a, "options"_a,
          "previous"_a.noconvert(), "edge_representation"_a.noconvert(), "weight"_a.noconvert(), "bias"_a.noconvert(),
          "norm_weight"_a.noconvert(), "norm_bias"_a.noconvert(), "query"_a.noconvert(), "zero"_a.noconvert(),
          "scale"_a.noconvert(), "edge_weight"_a.noconvert().none(), "grad_out"_a.noconvert(),
          "grad_previous"_a.noconvert(), "grad_edge_representation"_a.noconvert(), "grad_weight"_a.noconvert(),
          "grad_bias"_a.noconvert(), "grad_norm_weight"_a.noconvert(), "grad_norm_bias"_a.noconvert(),
          "grad_query"_a.noconvert(), "grad_zero"_a.noconvert(), "grad_edge_weight"_a.noconvert().none());
}

}  // namespace
}  // namespace nbfnet

void bind_fused_iteration(nb::module_ &m) {
    using namespace nbfnet;
    nb::class_<Options>(m, "FusedOptions")
        .def(
            "__init__",
            [](Options *self, const std::string &message, const std::string &aggregate, bool layer_norm, bool shortcut,
               bool wants_zero_gradient, int threads) {
                expect_threads(threads);
                new (self) Options{message_named(message),
                                   aggregate_named(aggregate),
                                   layer_norm,
                                   shortcut,
                                   wants_zero_gradient,
                                   threads};
            },
            "message"_a, "aggregate"_a, "layer_norm"_a, "shortcut"_a, "wants_zero_gradient"_a, "threads"_a);
    bind_for<float>(m);
    bind_for<double>(m);
}
