"""External histories: read, their version orders recovered, judged by `ddlsim.graph`.

One input format is one `Input` in `inputs`; `ddlsim check --input` offers what stands there.
"""
