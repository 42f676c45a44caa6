package definitions

// regwardenFormats reads definitions in the JSON of the HTTP API, and the same as YAML.
var regwardenFormats []format
