// The table of relational SpMM functions for one instruction set: included once by each relational_spmm_ISA.cpp.
#pragma once

#include "relational_spmm_backward.hpp"
#include "relational_spmm_forward.hpp"

namespace nbfnet::NBFNET_ISA {

template <class Scalar, class M, class A>
constexpr void add_pair(Kernels<Scalar> &table, Message message, Aggregate aggregate) {
    auto &forward = table.forward[static_cast<int>(message)][static_cast<int>(aggregate)];
    auto &backward = table.backward[static_cast<int>(message)][static_cast<int>(aggregate)];
    forward[0] = forward_rows<Scalar, M, A, false>;
    forward[1] = forward_rows<Scalar, M, A, true>;
    backward[0] = backward_rows<Scalar, M, A, false>;
    backward[1] = backward_rows<Scalar, M, A, true>;
}

template <class Scalar, class M>
constexpr void add_message(Kernels<Scalar> &table, Message message) {
    add_pair<Scalar, M, Sum>(table, message, Aggregate::sum);
    add_pair<Scalar, M, Mean>(table, message, Aggregate::mean);
    add_pair<Scalar, M, Max>(table, message, Aggregate::max);
    add_pair<Scalar, M, Min>(table, message, Aggregate::min);
    add_pair<Scalar, M, Pna>(table, message, Aggregate::pna);
}

template <class Scalar>
constexpr Kernels<Scalar> make_kernels() {
    Kernels<Scalar> table{};
    add_message<Scalar, TransE>(table, Message::transe);
    add_message<Scalar, DistMult>(table, Message::distmult);
    add_message<Scalar, RotatE>(table, Message::rotate);
    return table;
}

// Made by the compiler, never by code that runs when the module is loaded: this machine may not have the instructions.
constinit const Kernels<float> relational_spmm_float = make_kernels<float>();
constinit const Kernels<double> relational_spmm_double = make_kernels<double>();

}  // namespace nbfnet::NBFNET_ISA
