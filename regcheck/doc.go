// Package regcheck tells whether an OCI registry definition is valid by really using the registry,
// and when it is not, which stage failed, which field is at fault and how to fix it.
//
// A Checker runs seven stages in order: resolve, egress, connect, tls, api, auth, content. The
// first failure decides. All that was learned is a Report; an error means only that the definition
// could not be tried at all.
//
// The package speaks the protocol itself, on net/http, because a validator must see every hop: it
// follows no redirect blindly, sends no secret to another origin, guesses no scheme and dials no
// address that the egress policy did not judge. It keeps nothing between two checks, and it logs
// nothing: whoever wants to watch passes an Observer.
package regcheck
