"""Several processes that train one run together, each with its part of every draw.

Read ``team``, what a run asks of the processes beside it (one process by itself is the smallest team), then ``workers``, the
same over ``torch.distributed``; ``weights``, what a run asks of the model's parameters, and ``shards``, the same where
``fully_shard`` has divided them; and ``joining``, how a journal that only one of them writes is opened by all.
"""
