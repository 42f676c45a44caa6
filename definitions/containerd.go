package definitions

// containerdFormats reads containerd: hosts.toml, config.toml, and certs.d of docker and podman.
var containerdFormats []format
