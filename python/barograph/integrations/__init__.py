# SPDX-License-Identifier: Apache-2.0
"""Small hooks for frameworks that a program uses anyway: each module here imports its framework when it is called, not
before."""
