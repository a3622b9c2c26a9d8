// The operators that kernels know, by the names they have in Python.
#pragma once

#include <nanobind/nanobind.h>
#include <string>

#include "relational_spmm.hpp"

namespace nbfnet {

inline Message message_named(const std::string &name) {
    if (name == "transe") return Message::transe;
    if (name == "distmult") return Message::distmult;
    if (name == "rotate") return Message::rotate;
    throw nanobind::value_error(("no kernel for the message '" + name + "'").c_str());
}

inline Aggregate aggregate_named(const std::string &name) {
    if (name == "sum") return Aggregate::sum;
    if (name == "mean") return Aggregate::mean;
    if (name == "max") return Aggregate::max;
    if (name == "min") return Aggregate::min;
    if (name == "pna") return Aggregate::pna;
    throw nanobind::value_error(("no kernel for the aggregate '" + name + "'").c_str());
}

}  // namespace nbfnet
