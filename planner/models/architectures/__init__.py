"""What is particular to each architecture: a row of data, and one function per kind of layer.

A new family is a row of `families.FAMILIES`: the names its files use, what they leave out, which
layers are of which kind. Only a new way to store the past needs a new function, in `mixers`.
"""
