package definitions

// githubFormats reads GitHub workflows.
var githubFormats []format
