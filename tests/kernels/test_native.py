"""What the compiled module promises to every machine and every caller."""

from __future__ import annotations

import ast
import inspect
import platform
import re
import shutil
import subprocess
from pathlib import Path

import numpy as np
import pytest

from nbfnet.native import native

pytestmark = pytest.mark.skipif(native is None, reason="the compiled extension is not there")


def objdump(*options: str) -> str:
    return subprocess.run(["objdump", *options, native.__file__], capture_output=True, text=True, check=True).stdout


def start_functions() -> list[tuple[int, int]]:
    """Begin and end of the functions that run when the module is loaded: those that .init_array points to."""
    section = re.search(r"\.init_array +([0-9a-f]+) +([0-9a-f]+)", objdump("--section-headers"))
    assert section is not None
    size, begin = (int(number, 16) for number in section.groups())
    pointers = re.findall(r"^([0-9a-f]+) R_X86_64_RELATIVE +\*ABS\*\+0x([0-9a-f]+)", objdump("--dynamic-reloc"), re.M)
    starts = [int(to, 16) for place, to in pointers if begin <= int(place, 16) < begin + size]
    frames = re.findall(r" FDE .* pc=([0-9a-f]+)\.\.([0-9a-f]+)", objdump("--dwarf=frames"))
    end_of = {int(first, 16): int(end, 16) for first, end in frames}
    assert len(starts) == size // 8
    return [(start, end_of[start]) for start in starts if start in end_of]  # the C library's own has no frame


@pytest.mark.skipif(platform.system() != "Linux" or platform.machine() != "x86_64", reason="reads ELF files for x86-64")
@pytest.mark.skipif(shutil.which("objdump") is None, reason="needs objdump")
def test_loading_takes_no_instructions_that_the_machine_may_lack() -> None:
    """No kernel file may have code that runs before the instruction set is chosen; AVX's names begin with v or k."""
    functions = start_functions()
    assert functions
    for start, end in functions:
        code = objdump("-d", "--no-show-raw-insn", f"--start-address={start}", f"--stop-address={end}")
        instructions = re.findall(r"^ +[0-9a-f]+:\s+(\w+)", code, re.M)
        assert instructions
        assert not [name for name in instructions if name.startswith(("v", "k"))]


def test_an_output_is_never_a_copy() -> None:
    """Converted to what the compiled code wants, an output would be filled where nobody sees it."""
    keys, long, short = np.zeros(3, np.int32), np.zeros(3, np.int64), np.zeros(3, np.int32)
    with pytest.raises(TypeError):
        native.counting_sort(keys, long, short)
    with pytest.raises(TypeError):
        native.counting_sort(keys, short, long)
    with pytest.raises(TypeError):
        native.counting_sort(keys, long, np.zeros(6, np.int64)[::2])
    nothing, begin = np.zeros(0, np.int32), np.zeros(2, np.int64)
    with pytest.raises(TypeError):
        native.multiply_rows(begin, nothing, np.zeros(0), np.zeros(1), np.zeros(1, np.float32))
    for wrong in (np.zeros((1, 1), np.float32), np.zeros((1, 4))[:, ::2]):
        with pytest.raises(TypeError):
            native.bellman_ford(
                semiring=0,
                begin=begin,
                source=nothing,
                weight=np.zeros(0),
                out_begin=begin,
                target=nothing,
                out_weight=np.zeros(0),
                factor=np.zeros(0),
                uniform=1.0,
                rank=np.zeros(1, np.int32),
                sources=np.zeros(1, np.int32),
                iterations=1,
                until_convergence=False,
                tolerance=0.0,
                threads=1,
                scores=wrong,
            )


def stub_signatures(body: list[ast.stmt], owner: str = "") -> dict[str, set[tuple[str, ...]]]:
    """The names of the arguments of every function and method of the stub, overloads together."""
    found: dict[str, set[tuple[str, ...]]] = {}
    for node in body:
        if isinstance(node, ast.ClassDef):
            found |= stub_signatures(node.body, f"{node.name}.")
        elif isinstance(node, ast.FunctionDef) and not node.decorator_list:
            found[owner + node.name] = {tuple(argument.arg for argument in node.args.args)}
        elif isinstance(node, ast.FunctionDef) and getattr(node.decorator_list[0], "id", "") == "overload":
            found.setdefault(owner + node.name, set()).add(tuple(argument.arg for argument in node.args.args))
    return found


def test_the_stub_describes_the_module() -> None:
    """``_native.pyi`` is generated: after a change of the bindings it must be generated again."""
    stub = ast.parse(Path(str(native.__file__)).with_name("_native.pyi").read_text(encoding="utf-8"))
    expected: dict[str, set[tuple[str, ...]]] = {}
    for name, member in vars(native).items():
        if name.startswith("__"):
            continue
        methods = {f"{name}.{m}": f for m, f in vars(member).items()} if inspect.isclass(member) else {name: member}
        for full_name, function in methods.items():
            if hasattr(function, "__nb_signature__"):
                expected[full_name] = {
                    tuple(
                        a.arg for a in ast.parse(re.sub(r"ndarray\[.*?\]", "ndarray", text) + ": ...").body[0].args.args
                    )
                    for text, *_ in function.__nb_signature__
                }
    assert stub_signatures(stub.body) == expected
