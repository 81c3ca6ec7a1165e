// Nothing: the targets that own the precompiled headers need a source (BelayPrecompiled.cmake).
