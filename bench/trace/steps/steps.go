// Package steps notes which functions a program enters. The calls of Enter are put into
// a copy of the code by bench/trace; no other code has them.
package steps

import "sync"

var (
	mu      sync.Mutex
	on      bool
	entered []string // each name once, in the order of first entry
	seen    map[string]bool
)

// Enter notes a function by its name, between Start and Stop.
func Enter(name string) {
	mu.Lock()
	defer mu.Unlock()
	if on && !seen[name] {
		seen[name] = true
		entered = append(entered, name)
	}
}

// Start begins a new list, and may be called again before Stop.
func Start() {
	mu.Lock()
	defer mu.Unlock()
	on, entered, seen = true, nil, map[string]bool{}
}

// Stop returns the names of the functions that were entered since Start, on any
// goroutine, in the order of their first entry.
func Stop() []string {
	mu.Lock()
	defer mu.Unlock()
	on = false
	return entered
}
