#include "instruction_set.hpp"

#include <atomic>
#include <nanobind/stl/string.h>
#include <nanobind/stl/vector.h>
#include <string>
#include <vector>

#include "bindings.hpp"

namespace nb = nanobind;

namespace nbfnet {
namespace {

const char *const names[] = {"baseline", "avx2", "avx512"};

InstructionSet best() {
#if defined(__x86_64__)
    __builtin_cpu_init();
    const bool avx2 = __builtin_cpu_supports("avx2") && __builtin_cpu_supports("fma");
    if (avx2 && __builtin_cpu_supports("avx512f") && __builtin_cpu_supports("avx512dq") &&
        __builtin_cpu_supports("avx512bw") && __builtin_cpu_supports("avx512vl"))
        return InstructionSet::avx512;
    if (avx2) return InstructionSet::avx2;
#endif
    return InstructionSet::baseline;
}

std::atomic<InstructionSet> current = best();

std::vector<std::string> available() {
    std::vector<std::string> found;
    for (int i = static_cast<int>(best()); i >= 0; --i) found.emplace_back(names[i]);
    return found;
}

void choose(const std::string &name) {
    for (int i = static_cast<int>(best()); i >= 0; --i) {
        if (name == names[i]) {
            current = static_cast<InstructionSet>(i);
            return;
        }
    }
    throw nb::value_error(("this machine does not have the instruction set '" + name + "'").c_str());
}

}  // namespace

InstructionSet instruction_set() { return current; }

}  // namespace nbfnet

void bind_instruction_set(nb::module_ &m) {
    m.def("instruction_set", [] { return std::string(nbfnet::names[static_cast<int>(nbfnet::instruction_set())]); });
    m.def("instruction_sets", &nbfnet::available);
    m.def("choose_instruction_set", &nbfnet::choose, nb::arg("name"));
}
