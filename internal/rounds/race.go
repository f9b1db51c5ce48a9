//go:build race

package rounds

// raced tells whether the race detector is on.
const raced = true
