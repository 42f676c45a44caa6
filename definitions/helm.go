package definitions

// helmFormats reads Chart.yaml, repositories.yaml, helmfile.
var helmFormats []format
