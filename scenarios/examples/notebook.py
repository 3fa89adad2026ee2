"""ddlsim from Python, cell by cell as in a notebook: `python scenarios/examples/notebook.py`."""

# %% A design that does not check operations, and what is found in it
import networkx as nx

import ddlsim

runs = ddlsim.run("strategies/B3-T1")
print(runs.outcome, [one.kind for one in runs.violations])

# %% The argument as a graph: the nodes of the cycle, and why each edge is there
graph = runs.graph()
cycle = nx.find_cycle(graph)
for source, target, key in cycle:
    edge = graph.edges[source, target, key]
    print(f"{source} < {target} ({edge['name']}): {edge['because']}")

# %% A question of one's own: which DDL statements does a transaction stand between?
for node, kind in graph.nodes(data="kind"):
    if kind == "transaction":
        before = [one for one in graph.predecessors(node) if graph.nodes[one]["kind"] == "ddl"]
        after = [one for one in graph.successors(node) if graph.nodes[one]["kind"] == "ddl"]
        print(node, "after", before, "before", after)

# %% The same scenario on more nodes: a setting is a path of the scenario file, with its value
print(ddlsim.run("strategies/B3-T1", settings={"cluster.nodes": 4}).verdicts)

# %% What the designs claim
print([claim.invariant for claim in ddlsim.strategy("iep").header.claims])

# %% A migration
migration = ddlsim.compat("scenarios/realistic/schema.sql", "scenarios/realistic/orders.sql")
print([(one["sql"], one["forward_compatible"]) for one in migration.statements][:2])
