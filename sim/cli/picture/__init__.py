"""A judged history as a page, a graph, a trace: what is drawn, where, and in which words."""
