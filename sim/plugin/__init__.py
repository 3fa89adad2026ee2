"""What other programs load of ddlsim: the plugin for pytest."""
