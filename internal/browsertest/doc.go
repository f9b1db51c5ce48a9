// Package browsertest checks the library's HTML pages in a real browser. It is a module of
// its own, so that only it depends on a browser driver.
package browsertest
