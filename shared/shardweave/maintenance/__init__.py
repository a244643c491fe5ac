"""Looking after a table that is in use: writing records anew, proving that they are right, carrying them in and out.

Long work goes over the table in lanes, a page of each at a time, and keeps in the table how far it has come, so that
it may end at any moment and go on later, by any process. What it writes is conditioned on what it has read.
"""
