package definitions

// registriesConfFormats reads registries.conf of containers/image.
var registriesConfFormats []format
