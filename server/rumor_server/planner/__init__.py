"""What a question will cost and how well it will be answered, before anyone is asked.

Read `accuracy` (what follows from two probabilities), `power` (how often a share is found),
`options` (every mechanism as it would be shipped), `recommendation` (which one, and why), `inverse`
(what a wanted accuracy needs) and `plan_fields` (the choice, written into a registry).
"""

from rumor_server.planner.accuracy import Accuracy
from rumor_server.planner.inverse import Target, devices_needed, epsilon_needed
from rumor_server.planner.options import Option, Refusal, memoised_option, plan_options
from rumor_server.planner.plan_fields import settle_registry
from rumor_server.planner.recommendation import Plan, PlanError, plan

__all__ = [
    "Accuracy",
    "Option",
    "Plan",
    "PlanError",
    "Refusal",
    "Target",
    "devices_needed",
    "epsilon_needed",
    "memoised_option",
    "plan",
    "plan_options",
    "settle_registry",
]
