package definitions

// k3sFormats reads registries.yaml of k3s and RKE2.
var k3sFormats []format
