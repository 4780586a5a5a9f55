# SPDX-License-Identifier: Apache-2.0
"""Drop-ins: who uses one of five other monitors changes one import.

    from barograph.compat.stouputils import ProcessMetricsMonitor
    from barograph.compat.oasislmf import ResourceMonitor
    from barograph.compat.aurora import TaskResourceMonitor
    from barograph.compat.resource_tracker import PidTracker, ResourceTracker
    from barograph.compat.pytyche import HWMonitor, RunLog

Names, signatures, files and formats are the original's. What the original gets wrong is right here; docs/compat.md
lists it, and `original=True`, or BAROGRAPH_COMPAT=original in the environment, gives the original's behaviour.
"""
