"""What tune found in a world of two settings, by hand."""

SETTING = {"dd_ms": 60, "h_ms": 50, "cs_max_ms": 7}
GOAL = {"goal": "dml_wait_p99<=1ms", "simulated": 0.5, "low": 0.25, "high": 0.75}
OTHER = {"dd_ms": 40, "h_ms": 50, "cs_max_ms": 7}
COSTS = {
    "wait_p99": 0.5,
    "wait_p99_low": 0.25,
    "wait_p99_high": 0.75,
    "waiting": 0.125,
    "ddl_latency_p99": 90.0,
    "schema_abort_rate": 0.0,
    "messages_per_s": 20.0,
}
LINE = {"figure": "mean wait, ms", "simulated": 0.5, "low": 0.25, "high": 0.75}
ADVICE: dict[str, object] = {
    "format": 1,
    "writer": "ddlsim tune",
    "command": "ddlsim tune --delays d.csv --slo 'dml_wait_p99<=1ms'",
    "provenance": {"version": "9.9.9", "commit": "abc123", "python": "3.99"},
    "asked": {"strategy": "iep"},
    "recommended": {
        **SETTING,
        "dd_least_ms": 55,
        "dd_interval_ms": [50, 60],
        "dd_over_seeds_ms": [51.5, 58.5],
        "dd_over_sample_ms": [-2.5, 3.5],
        "messages_per_s": 20.0,
    },
    "present": {
        "dd_ms": 500,
        "h_ms": 50,
        "cs_max_ms": 500,
        "messages_per_s": 20.0,
        "goals": [{**GOAL, "simulated": 0.0, "met": True, "sure": True}],
        "meets": True,
        "dd_can_be_lowered": True,
        "ddl_latency_p99_ms": 1_010.0,
        "ddl_latency_saved_ms": 920.0,
    },
    "cs_max": {
        "seen": 40,
        "largest_ms": 4.5,
        "margin_ms": 2.25,
        "between": ["n1", "n2"],
        "next_larger": 0.024,
        "share_most": 0.072,
        "assumed": "no clock steps",
    },
    "goals": [{**GOAL, "met": True, "sure": True}],
    "front": [
        {**SETTING, **COSTS, "on_front": True, "knee": True},
        {**OTHER, **COSTS, "wait_p99": 9.0, "on_front": False, "knee": False},
    ],
    "curve": {
        "h_ms": 50,
        "dd_ms": [0, 60],
        "p99_wait": {"unordered": [50.0, 0.0], "ordered": [55.0, 0.0]},
    },
    "skew": [
        {
            "factor": 1.5,
            "skew_ms": 10.5,
            "runs": 24,
            "own_ddl_missed_runs": 9,
            "by_formula_missed": True,
            "atomicity_broken_runs": 0,
            "atomicity_broken_most": 0.117,
        }
    ],
    "agreement": [
        {**SETTING, **LINE, "unordered": 0.3, "ordered": 0.6, "agrees": True},
        {**SETTING, **LINE, "unordered": 3.0, "ordered": 6.0, "agrees": False},
    ],
    "runs": {"seeds": [0, 23], "all": 384, "search": 120, "fine_grid": 2424, "lost": 0},
}
