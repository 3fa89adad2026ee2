"""FoundationDB's processes and client library, against the ports of `ddlsim.model.ports` alone."""
