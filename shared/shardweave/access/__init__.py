"""Who may see and do what: claims that bind records to a tenant, rules, private properties.

Guarantees, for every request over HTTP: a record whose property is bound to a claim does not exist for a caller whose
claim says otherwise, in whatever way it is asked for; once a schema has rules, what no rule allows is refused; private
properties are neither returned nor asked about. Pure: what a caller may do is worked out from the schema and the
verified claims alone, and costs no request.
"""

from ..schema.access_rules import OPERATIONS, Allow
from ..schema.caller import ANONYMOUS, Caller
from ..schema.property_options import claim_property, private_property

__all__ = ["ANONYMOUS", "OPERATIONS", "Allow", "Caller", "claim_property", "private_property"]
