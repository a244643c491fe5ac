"""What only this repository has of its deployments: `manifests/`, what of the services that ship was deployed.

The app is `app.py` at the top; what it provisions is `shardweave.cdk`.
"""
