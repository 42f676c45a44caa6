package definitions

// argoKinds has what resolves the objects of Argo CD.
var argoKinds = map[string]resolver{}
