// Package arch has only tests: rules of this repository that no linter checks. They say
// which modules the root may require, which package may import which, and a few things
// that no file may contain.
package arch
