"""A MariaDB server in a temporary folder, for tests where its programs are installed."""

from ddlsim.analysis.databases.servers import lacking, mariadb

INSTALLED = not lacking("mariadb")
server = mariadb


def made_by_recorders(url: str) -> list[str]:
    """The databases of a server that recorders have made, and not dropped."""
    import pymysql

    connection = pymysql.connect(unix_socket=url.partition("unix_socket=")[2], user="root")
    try:
        with connection.cursor() as cursor:
            cursor.execute("SHOW DATABASES LIKE 'ddlsim%'")
            return [str(row[0]) for row in cursor.fetchall()]
    finally:
        connection.close()
