"""Rules for code: names, comprehensions, conditions, sizes."""

from __future__ import annotations

import ast
from collections.abc import Callable, Iterator

from checks.project import Finding, Module, Project

MAX_FUNCTION_LINES = 50
MAX_PARAMETERS = 6
MAX_LATE_ASSIGNMENTS = 2
MAX_TUPLE_LENGTH = 2
_VAGUE_NAMES = """
one told found own wanted known said there shown given asked why words place places lost theirs mine
ours written
"""
VAGUE_NAMES = frozenset(_VAGUE_NAMES.split())
FUNCTIONS = (ast.FunctionDef, ast.AsyncFunctionDef)
DEFINITIONS = (*FUNCTIONS, ast.ClassDef)
COMPREHENSIONS = (ast.ListComp, ast.SetComp, ast.DictComp, ast.GeneratorExp)
Function = ast.FunctionDef | ast.AsyncFunctionDef


def find_nodes(project: Project, is_match: Callable[[ast.AST], bool]) -> Iterator[Finding]:
    """Yield each node of the package for which a test holds."""
    for module in project.modules:
        for node in ast.walk(module.tree):
            if is_match(node):
                yield make_finding(module, node)


def make_finding(module: Module, node: ast.AST, text: str = "") -> Finding:
    """Return the place of a node, with its first line as text unless another is given."""
    line = getattr(node, "lineno", 1)
    return Finding(module.path, line, text or module.source.splitlines()[line - 1].strip())


def find_vague_names(project: Project) -> Iterator[Finding]:
    """Yield assigned names and parameters that say nothing."""
    for module in project.modules:
        for node, name in iterate_names(module):
            if name in VAGUE_NAMES:
                yield make_finding(module, node, name)


def iterate_names(module: Module) -> Iterator[tuple[ast.AST, str]]:
    """Yield the assigned names and parameters of a module."""
    for node in ast.walk(module.tree):
        if isinstance(node, ast.arg):
            yield node, node.arg
        elif isinstance(node, ast.Name) and isinstance(node.ctx, ast.Store):
            yield node, node.id


def find_hard_comprehensions(project: Project) -> Iterator[Finding]:
    """Yield comprehensions with two `for`, more than two lines or another one inside."""
    return find_nodes(project, is_hard_comprehension)


def is_hard_comprehension(node: ast.AST) -> bool:
    """Whether a node is a comprehension that is hard to read."""
    if not isinstance(node, COMPREHENSIONS):
        return False
    n_lines = (node.end_lineno or node.lineno) - node.lineno + 1
    is_nested = any(isinstance(c, COMPREHENSIONS) for c in ast.walk(node) if c is not node)
    return len(node.generators) > 1 or n_lines > 2 or is_nested


def find_inner_walruses(project: Project) -> Iterator[Finding]:
    """Yield assignment expressions inside comprehensions or `and` and `or`."""
    for module in project.modules:
        inner: dict[int, ast.NamedExpr] = {}
        for node in ast.walk(module.tree):
            if isinstance(node, (*COMPREHENSIONS, ast.BoolOp)):
                walruses = [c for c in ast.walk(node) if isinstance(c, ast.NamedExpr)]
                inner |= {id(walrus): walrus for walrus in walruses}
        for walrus in inner.values():
            yield make_finding(module, walrus)


def find_nested_conditionals(project: Project) -> Iterator[Finding]:
    """Yield conditional expressions that hold another one."""
    return find_nodes(project, is_nested_conditional)


def is_nested_conditional(node: ast.AST) -> bool:
    """Whether a node is a conditional expression with another one inside."""
    return isinstance(node, ast.IfExp) and any(
        isinstance(child, ast.IfExp) for child in ast.walk(node) if child is not node
    )


def find_conditional_texts(project: Project) -> Iterator[Finding]:
    """Yield texts and lists that are multiplied by a condition."""
    return find_nodes(project, is_conditional_text)


def is_conditional_text(node: ast.AST) -> bool:
    """Whether a node multiplies a text or list by a condition."""
    if not isinstance(node, ast.BinOp) or not isinstance(node.op, ast.Mult):
        return False
    sides = (node.left, node.right)
    return any(map(is_text_or_list, sides)) and any(map(is_condition, sides))


def is_text_or_list(node: ast.AST) -> bool:
    """Whether an expression is a literal text, an f-string or a list."""
    if isinstance(node, ast.Constant):
        return isinstance(node.value, str)
    return isinstance(node, ast.JoinedStr | ast.List)


def is_condition(node: ast.AST) -> bool:
    """Whether an expression is a comparison, `and`, `or`, `not` or `bool(…)`."""
    if isinstance(node, ast.Call):
        return ast.unparse(node.func) == "bool"
    is_not = isinstance(node, ast.UnaryOp) and isinstance(node.op, ast.Not)
    return is_not or isinstance(node, ast.Compare | ast.BoolOp)


def find_long_functions(project: Project) -> Iterator[Finding]:
    """Yield functions with too many lines, the docstring left out."""
    for module, function in iterate_functions(project):
        if count_code_lines(function) > MAX_FUNCTION_LINES:
            yield make_finding(module, function, function.name)


def iterate_functions(project: Project) -> Iterator[tuple[Module, Function]]:
    """Yield all functions and methods of the package."""
    for module in project.modules:
        for node in ast.walk(module.tree):
            if isinstance(node, FUNCTIONS):
                yield module, node


def count_code_lines(function: Function) -> int:
    """Count the lines of a function without its docstring."""
    lines = (function.end_lineno or function.lineno) - function.lineno + 1
    if ast.get_docstring(function) is not None:
        docstring = function.body[0]
        lines -= (docstring.end_lineno or docstring.lineno) - docstring.lineno + 1
    return lines


def find_wide_functions(project: Project) -> Iterator[Finding]:
    """Yield functions with too many parameters, those that users import left out."""
    exported = find_exported_names(project.modules)
    for module, function in iterate_functions(project):
        if len(parameter_names(function)) > MAX_PARAMETERS and function.name not in exported:
            yield make_finding(module, function, function.name)


def parameter_names(function: Function) -> list[str]:
    """Return the parameters of a function, without `self` and `cls`."""
    arguments = function.args
    names = [a.arg for a in (*arguments.posonlyargs, *arguments.args, *arguments.kwonlyargs)]
    return [name for name in names if name not in ("self", "cls")]


def find_exported_names(modules: tuple[Module, ...]) -> set[str]:
    """Return the names that the package's `__init__` or an `__all__` lists."""
    exported: set[str] = set()
    for module in modules:
        is_root = module.path.name == "__init__.py" and module.path.parent.parent.name == "src"
        for node in ast.walk(module.tree):
            is_list = isinstance(node, ast.Assign) and ast.unparse(node.targets[0]) == "__all__"
            if is_list or (is_root and isinstance(node, ast.Dict)):
                constants = [c.value for c in ast.walk(node) if isinstance(c, ast.Constant)]
                exported |= {value for value in constants if isinstance(value, str)}
    return exported


def find_late_constants(project: Project) -> Iterator[Finding]:
    """Yield modules with more than two assignments after the first definition."""
    for module in project.modules:
        if count_late_assignments(module.tree) > MAX_LATE_ASSIGNMENTS:
            yield make_finding(module, module.tree, "constants after definitions")


def count_late_assignments(tree: ast.Module) -> int:
    """Count top-level assignments after the first definition, type aliases included.

    `__all__` and blocks such as `if TYPE_CHECKING` don't count.
    """
    count = 0
    has_definition = False
    for node in tree.body:
        if isinstance(node, DEFINITIONS):
            has_definition = True
        elif has_definition and isinstance(node, ast.Assign | ast.AnnAssign | ast.AugAssign):
            targets = node.targets if isinstance(node, ast.Assign) else [node.target]
            count += [ast.unparse(target) for target in targets] != ["__all__"]
    return count


def find_attribute_probes(project: Project) -> Iterator[Finding]:
    """Yield calls of `getattr` and `hasattr` by a constant name."""
    return find_nodes(project, is_attribute_probe)


def is_attribute_probe(node: ast.AST) -> bool:
    """Whether a node is `getattr` or `hasattr` by a constant name."""
    return (
        isinstance(node, ast.Call)
        and isinstance(node.func, ast.Name)
        and node.func.id in ("getattr", "hasattr")
        and len(node.args) > 1
        and isinstance(node.args[1], ast.Constant)
    )


def find_long_return_tuples(project: Project) -> Iterator[Finding]:
    """Yield functions that return a tuple of more than two values."""
    for module, function in iterate_functions(project):
        if function.returns is not None and is_long_tuple(function.returns):
            yield make_finding(module, function, ast.unparse(function.returns))


def is_long_tuple(annotation: ast.expr) -> bool:
    """Whether an annotation is a tuple of fixed length with more than two values."""
    if not isinstance(annotation, ast.Subscript) or ast.unparse(annotation.value) != "tuple":
        return False
    values = annotation.slice
    return isinstance(values, ast.Tuple) and len(values.elts) > MAX_TUPLE_LENGTH
