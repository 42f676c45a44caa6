package definitions

// imageUpdaterFormats reads registries.conf of Argo CD Image Updater.
var imageUpdaterFormats []format
