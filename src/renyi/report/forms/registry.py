"""A statement as an entry of the public registry of deployments, in YAML.

The fields are those of the registry's template (github.com/opendp/deployments-registry-data, tests/good_deployments/
template.yaml, as read in 2026); after Nanayakkara, Ghazi & Vadhan (2025), arXiv:2509.13509.
"""

from __future__ import annotations

import math

from renyi.numerics.printing import rounded_up
from renyi.report.forms.yaml import Blank, yaml
from renyi.report.said import Said


def registry(said: Said) -> str:
    """The entry; what only the curator of the data can know is left blank, with a hint."""
    guarantee = said.guarantee
    finite = guarantee.epsilon.upper < math.inf
    warned = "".join(f"\nWARNING: {warning}" for warning in said.warnings)
    return "# Written by renyi for the registry of differential privacy deployments.\n" + yaml(
        {
            "url_slug": Blank("a name for its address, such as product-curator-2026"),
            "deployment": {
                "basic": {
                    "name": Blank("name of the data product"),
                    "data_curators": [
                        {
                            "data_curator_name": Blank("who publishes it"),
                            "data_curator_type": Blank("Government, Industry or Nonprofit"),
                        }
                    ],
                    "description": Blank("what the data product is"),
                    "intended_use": Blank("what it is meant for"),
                    "data_product_type": Blank("such as Machine learning model, or Summary statistics"),
                    "data_product_region": Blank("which region's data, or laws"),
                    "data_product_sector": Blank("such as Technology, or Healthcare"),
                    "publication_date": Blank("YYYY-MM-DD"),
                },
                "dp_variant": {
                    "variant_name": "Approximate DP" if guarantee.delta > 0.0 else "Pure DP",
                    "data_domain": said.of("data_covered"),
                    "unprotected_quantities": said.of("data_not_covered"),
                },
                "privacy_loss": {
                    "privacy_unit": said.of("unit"),
                    "privacy_unit_details": said.of("adjacency"),
                    "privacy_parameters": {
                        **({"epsilon": float(rounded_up(guarantee.epsilon.upper))} if finite else {}),
                        "delta": float(rounded_up(guarantee.delta)),
                    },
                    "privacy_parameters_details": f"{said.sentence}{warned}\n{said.of('epsilon', 'gdp', 'risk')}",
                },
                "deployment_model": {
                    "model_name": Blank("Local, Central, Shuffle or Federated"),
                    "release_type": Blank("One release, or Many releases"),
                    "data_source_type": Blank("Static, or Dynamic"),
                    "access_type": Blank("Interactive, or Non-interactive"),
                },
                "implementation": {
                    "preprocessing_and_hyperparameter_tuning": said.of("search"),
                    "mechanisms": said.of("noise", "clipping", "sampler_run", "sampler_accounted", "steps", "method"),
                    "composition": said.of("composition", "other_runs"),
                    "post_processing": Blank("what was done with the output afterwards"),
                    "justification": Blank("how these choices were made"),
                    "additional_information": said.of("assumptions", "record", "references", "certificate", "audit"),
                },
                "administrative": {
                    "status": "Draft",
                    "registry_authors": [Blank("who filled this in")],
                    "tier": 3,
                },
            },
        }
    )
