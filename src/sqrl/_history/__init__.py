"""Evidence over repeated checks: what a history keeps, its baseline, and the detector of changes.

The doors are `detector.replay`, for records that are kept, and `monitor.Monitor`, for a stream.
"""
