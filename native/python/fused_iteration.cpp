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

// With the instruction set in use; double precision has the baseline's only.
void run_forward(const FusedCall<double> &call) { baseline::fused_forward(call); }
void run_backward(const FusedCall<double> &call) { baseline::fused_backward(call); }
void run_forward(const FusedCall<float> &call) {
#if defined(__x86_64__)
    if (instruction_set() == InstructionSet::avx512) return avx512::fused_forward(call);
    if (instruction_set() == InstructionSet::avx2) return avx2::fused_forward(call);
#endif
    baseline::fused_forward(call);
}
void run_backward(const FusedCall<float> &call) {
#if defined(__x86_64__)
    if (instruction_set() == InstructionSet::avx512) return avx512::fused_backward(call);
    if (instruction_set() == InstructionSet::avx2) return avx2::fused_backward(call);
#endif
    baseline::fused_backward(call);
}

// One fused iteration on given inputs. The arrays are kept as long as it lives.
template <class Scalar>
class Iteration {
  public:
    Iteration(const RowPlan &plan, const GraphArrays &graph, int64_t iteration, const std::string &message,
              const std::string &aggregate, bool layer_norm, bool shortcut, bool wants_zero_gradient, int threads,
              In<Scalar, 2> previous, In<Scalar, 3> edge_representation, In<Scalar, 2> weight, In<Scalar> bias,
              In<Scalar> norm_weight, In<Scalar> norm_bias, In<Scalar, 2> query, In<Scalar> zero, In<Scalar> scale,
              std::optional<In<Scalar>> edge_weight)
        : threads_(threads),
          matrices_{previous, weight, query},
          vectors_{bias, norm_weight, norm_bias, zero, scale, edge_weight.value_or(scale)},
          edge_representation_(edge_representation) {
        expect_threads(threads);
        expect_plan_of(plan, graph.graph(), iteration);
        const int64_t relations = length(edge_representation, 1), dim = length(edge_representation, 2);
        expect(dim >= 1 && dim <= most_dims, "edge_representation has " + std::to_string(dim) + " dims");
        expect(message != "rotate" || dim % 2 == 0,
               "the message 'rotate' needs an even dim, not " + std::to_string(dim));
        expect(relations >= graph.relations, "edge_representation has " + std::to_string(relations) +
                                                 " relations, expected at least the " +
                                                 std::to_string(graph.relations) + " of the edges");
        expect_shape("edge_representation", edge_representation, {plan.families, relations, dim});
        expect_shape("previous", previous, {plan.levels[iteration - 1].rows(), dim});
        expect_shape("weight", weight, {dim, dim + (aggregate == "pna" ? 12 : 1) * dim});
        expect_shape("bias", bias, {dim});
        expect_shape("norm_weight", norm_weight, {dim});
        expect_shape("norm_bias", norm_bias, {dim});
        expect_shape("query", query, {plan.queries, dim});
        expect_shape("zero", zero, {dim});
        expect_shape("scale", scale, {graph.nodes()});
        if (edge_weight) expect_shape("edge_weight", *edge_weight, {graph.graph().edges});
        call_.plan = &plan;
        call_.graph = graph.graph();
        call_.iteration = iteration;
        call_.previous = previous.data();
        call_.wants_zero_gradient = wants_zero_gradient;
        call_.layer = {message_named(message),
                       aggregate_named(aggregate),
                       layer_norm,
                       shortcut,
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
    }

    void forward(Out<Scalar, 2> out) const {
        FusedCall<Scalar> call = call_;
        expect_shape("out", out, {call.plan->levels[call.iteration].rows(), call.layer.dim});
        call.out = out.data();
        nb::gil_scoped_release release;
        const WorkShares shares = share_work(*call.plan, call.graph, call.iteration, threads_);
        call.shares = &shares;
        run_forward(call);
    }

    // The gradient of `previous` is written, the others are added to.
    void backward(In<Scalar, 2> grad_out, Out<Scalar, 2> previous, Out<Scalar, 3> edge_representation,
                  Out<Scalar, 2> weight, Out<Scalar> bias, Out<Scalar> norm_weight, Out<Scalar> norm_bias,
                  Out<Scalar, 2> query, Out<Scalar> zero, std::optional<Out<Scalar>> edge_weight) const {
        FusedCall<Scalar> call = call_;
        const int64_t dim = call.layer.dim;
        expect(!call.plan->background_given, "a plan whose background is given has no backward pass");
        expect_shape("grad_out", grad_out, {call.plan->levels[call.iteration].rows(), dim});
        expect_shape("the gradient of previous", previous, {length(matrices_[0]), dim});
        expect_shape("the gradient of edge_representation", edge_representation,
                     {call.plan->families, call.layer.relations, dim});
        expect_shape("the gradient of weight", weight, {dim, length(matrices_[1], 1)});
        expect_shape("the gradient of bias", bias, {dim});
        expect_shape("the gradient of norm_weight", norm_weight, {dim});
        expect_shape("the gradient of norm_bias", norm_bias, {dim});
        expect_shape("the gradient of query", query, {call.plan->queries, dim});
        expect_shape("the gradient of zero", zero, {dim});
        expect(edge_weight.has_value() == (call.layer.edge_weight != nullptr),
               "edge_weight and its gradient are both there, or neither");
        if (edge_weight) expect_shape("the gradient of edge_weight", *edge_weight, {call.graph.edges});
        call.grad_out = grad_out.data();
        call.grad_previous = previous.data();
        call.gradient = {
            edge_representation.data(), weight.data(), bias.data(), norm_weight.data(),
            norm_bias.data(),           query.data(),  zero.data(), edge_weight ? edge_weight->data() : nullptr};
        nb::gil_scoped_release release;
        const WorkShares shares = share_work(*call.plan, call.graph, call.iteration, threads_);
        call.shares = &shares;
        run_backward(call);
    }

  private:
    int threads_;
    In<Scalar, 2> matrices_[3];
    In<Scalar> vectors_[6];
    In<Scalar, 3> edge_representation_;
    FusedCall<Scalar> call_{};
};

// No array may be converted: a converted output would be a copy that nobody sees.
template <class Scalar>
void bind_for(nb::module_ &m, const char *name) {
    nb::class_<Iteration<Scalar>>(m, name)
        .def(nb::init<const RowPlan &, const GraphArrays &, int64_t, const std::string &, const std::string &, bool,
                      bool, bool, int, In<Scalar, 2>, In<Scalar, 3>, In<Scalar, 2>, In<Scalar>, In<Scalar>, In<Scalar>,
                      In<Scalar, 2>, In<Scalar>, In<Scalar>, std::optional<In<Scalar>>>(),
             "plan"_a, "graph"_a, "iteration"_a, "message"_a, "aggregate"_a, "layer_norm"_a, "shortcut"_a,
             "wants_zero_gradient"_a, "threads"_a, "previous"_a.noconvert(), "edge_representation"_a.noconvert(),
             "weight"_a.noconvert(), "bias"_a.noconvert(), "norm_weight"_a.noconvert(), "norm_bias"_a.noconvert(),
             "query"_a.noconvert(), "zero"_a.noconvert(), "scale"_a.noconvert(), "edge_weight"_a.noconvert().none(),
             nb::keep_alive<1, 2>(), nb::keep_alive<1, 3>())
        .def("forward", &Iteration<Scalar>::forward, "out"_a.noconvert())
        .def("backward", &Iteration<Scalar>::backward, "grad_out"_a.noconvert(), "previous"_a.noconvert(),
             "edge_representation"_a.noconvert(), "weight"_a.noconvert(), "bias"_a.noconvert(),
             "norm_weight"_a.noconvert(), "norm_bias"_a.noconvert(), "query"_a.noconvert(), "zero"_a.noconvert(),
             "edge_weight"_a.noconvert().none());
}

}  // namespace
}  // namespace nbfnet

void bind_fused_iteration(nb::module_ &m) {
    nbfnet::bind_for<float>(m, "FusedIterationFloat");
    nbfnet::bind_for<double>(m, "FusedIterationDouble");
}
