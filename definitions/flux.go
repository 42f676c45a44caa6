package definitions

// fluxKinds has what resolves the objects of Flux.
var fluxKinds = map[string]resolver{}
