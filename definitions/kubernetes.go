package definitions

// kubernetesFormats reads Kubernetes objects.
var kubernetesFormats []format
