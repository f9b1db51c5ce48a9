// Package oracle has only tests: they compare what this library sends and reads with what
// the vendors' own SDKs do. It is a module of its own, and not part of the workspace, so
// that only it depends on the SDKs: run it by make oracle.
package oracle
