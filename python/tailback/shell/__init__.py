"""A command behind an emulated link: ``links.py`` makes the link's scenario, ``launch.py`` the namespaces, and ``inside.py`` is
what runs within them. Packets are the core's business."""
