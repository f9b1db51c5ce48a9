// Package servers has only tests: the models of this library talk to servers of other
// authors, from npm in the versions of testdata/npm.
package servers
