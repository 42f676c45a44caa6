package definitions

// terraformFormats reads terraform show -json and .tf.
var terraformFormats []format
