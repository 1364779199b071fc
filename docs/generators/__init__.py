"""Reference pages made from the code: `python -m docs.generators` writes them anew.

A page is what the code enumerates (fields, commands, routes, words), beside what a person says of
each. Where the code has something nobody explained, or an explanation outlived its thing,
`Unexplained` is raised: so the build fails, and so does a test.
"""
