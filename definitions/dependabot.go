package definitions

// dependabotFormats reads dependabot.yml.
var dependabotFormats []format
