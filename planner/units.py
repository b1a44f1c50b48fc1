"""Units by their size in SI, so that no equation has a bare power of ten in it."""

GIGA = 10**9
TERA = 10**12
GB = GIGA  # bytes: decimal, as on a device's label and on this page
MIB = 2**20
GIB = 2**30  # bytes: binary, as engines print them, also where they write GB
