// Package servers holds tests alone: they have the models of this library talk to
// servers that others wrote, from npm in the versions of testdata/npm.
package servers
