"""Settings of Spark for tests: a JVM that starts quickly, and plans that are interpreted."""

from typing import Final

QUICK_JAVA: Final = (
    "-XX:TieredStopAtLevel=1 -XX:+UseSerialGC "
    "-XX:+UnlockDiagnosticVMOptions -XX:-BytecodeVerificationRemote"
)
"""A JVM that neither optimizes nor verifies its libraries: it starts with less work, and is slower
in the long run."""
QUICK: Final = {
    "spark.driver.extraJavaOptions": QUICK_JAVA,
    "spark.sql.codegen.wholeStage": "false",
    "spark.sql.codegen.factoryMode": "NO_CODEGEN",
}
"""The settings of a session."""
