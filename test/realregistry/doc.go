// Package realregistry starts real registries for tests, on loopback only: the distribution registry
// in process, Debian's docker-registry and nginx as processes, and a token server that distribution
// believes. It also fills them with real content and reads them back with oras-go, so that a verdict
// of ours can be held against what another client sees.
//
// It refuses to skip: a missing Debian package fails the test and is named.
package realregistry
