package definitions

// gitlabFormats reads GitLab pipelines.
var gitlabFormats []format
