#include "simd/instruction_set.hpp"

#include <atomic>
#include <stdexcept>

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

}  // namespace

InstructionSet instruction_set() { return current; }

std::string name_of(InstructionSet set) { return names[static_cast<int>(set)]; }

std::vector<std::string> available_instruction_sets() {
    std::vector<std::string> found;
    for (int i = static_cast<int>(best()); i >= 0; --i) found.emplace_back(names[i]);
    return found;
}

void choose_instruction_set(const std::string &name) {
    for (int i = static_cast<int>(best()); i >= 0; --i) {
        if (name == names[i]) {
            current = static_cast<InstructionSet>(i);
            return;
        }
    }
    throw std::invalid_argument("this machine does not have the instruction set '" + name + "'");
}

}  // namespace nbfnet
