"""What becomes of a refused operation of a transaction that has used nothing of its table yet.

An activation may lie between the coordinator's enlistTs and the primary's opTs; the operation is
then refused although it is the same operation [110.quirk]. By the text the transaction is aborted
and its client retries it. The catalogue's other remedy (B9) is safe as well: nothing of the version
that was enlisted has been used, so enlisting the table again is as if it were used for the first
time now. Trusting enlistTs is not safe: the operation would run under a schema that has ended.
"""


def client_retry(_ran: int) -> bool:
    """Never enlist again: the transaction is aborted, and its client retries it [110.quirk]."""
    return False


def coordinator_retry(ran: int) -> bool:
    """Enlist a table again where no operation on it ran or may have run [110.quirk]."""
    return ran == 0
