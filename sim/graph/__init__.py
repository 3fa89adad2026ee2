"""The graph engine: from the edges of a history to the cycles that convict it, and their names.

`certificate` shows that there is no cycle, `residue` keeps the components that may hold one,
`cycles` searches them, `tangle` chooses a cycle, `chains` has weights and real time,
`classify` and `names` name it, `words` argues. Three ways lead in: the native one
(`ddlsim.checkers.graph.cycles`), foreign histories (`ddlsim.foreign`), and histories of millions of
transactions as columns: `history` holds them, `versions` lays the versions of every key side by
side, `edges` builds the graph, and `judge` is the entry; `ddlsim.analysis.large` does so on Spark.
"""
