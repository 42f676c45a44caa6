// Package realregistry starts real registries for tests, on loopback only: the distribution registry
// in process, Debian's docker-registry and nginx as processes, and a token server that distribution
// believes. It also fills them with real content and reads them back with oras-go, so that a report
// of ours can be compared with what another client sees.
//
// A missing Debian package fails the test with the name of the package.
package realregistry
