"""CEL, the expression language of rules and conditions: a compiler and evaluator with Kubernetes' libraries.

`environment.compile(text, variables)` gives a Program; `Program.eval(bindings)` its value. `rules` applies the rules of
custom kinds' schemas.
"""
