package definitions

// buildkitdFormats reads buildkitd.toml.
var buildkitdFormats []format
