"""Sample data of the services that ship; each service finds its own by its function `sample_data`.

users           users and their e-mails; names has what they are made of, seeded_random how it is chosen
orders          customers, products and the events of orders
issues          tenants, projects and issues
"""
