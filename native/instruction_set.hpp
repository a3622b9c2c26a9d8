// Which vector instructions the kernels use: the best the machine has, unless told otherwise.
#pragma once

namespace nbfnet {

enum class InstructionSet : int { baseline, avx2, avx512 };

InstructionSet instruction_set();

}  // namespace nbfnet
