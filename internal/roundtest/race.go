//go:build race

package roundtest

// raced tells whether the race detector is on.
const raced = true
