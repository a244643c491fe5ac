"""Sample data of the services that ship; each service finds its own by its function `sample_data`.

sample_data     users and their e-mails; sample_names has what they are made of, chance how it is chosen
sample_orders   customers, products and the events of orders
sample_issues   tenants, projects and issues
"""
