// Package browsertest looks at the pages that the library makes in a real browser. It
// is a module of its own, so that nobody else gets the driver of one.
package browsertest
