"""The floor plan of a scenario with a field: where its nodes are, and who receives whom."""

from wifair.floor_plan.plan import FloorPlan, Node, of_scenario

__all__ = ["FloorPlan", "Node", "of_scenario"]
