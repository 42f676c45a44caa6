package definitions

// harborFormats reads Harbor's list of registries.
var harborFormats []format
