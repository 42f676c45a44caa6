package definitions

// dockerFormats reads docker's and podman's files of credentials.
var dockerFormats []format
