"""Working plug-ins and a scenario, one file for each kind: `ddlsim new` copies them under a name.

They are ordinary modules, so that types and style are checked, and the documentation shows them.
Nothing imports them: importing one registers what it defines.
"""
