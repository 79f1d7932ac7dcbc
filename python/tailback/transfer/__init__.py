"""Files between hosts: keys, addresses, the scenario that stands for the flow, and the two ends. What is printed is made in
``commands/transfer.py``; bytes are moved by the core."""
