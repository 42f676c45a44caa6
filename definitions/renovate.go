package definitions

// renovateFormats reads Renovate's hostRules.
var renovateFormats []format
