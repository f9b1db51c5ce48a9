// Package network says whether models may use the network: tests block that for the whole
// process, see fake.BlockNetwork. Openers call [Check] before each call.
package network

import (
	"errors"
	"fmt"
	"net"
	"path/filepath"
	"runtime"
	"slices"
	"strings"
	"sync"
)

// ErrBlocked says that a call was refused because of a [Block].
var ErrBlocked = errors.New("calls of models over the network are blocked")

// Block refuses calls from Start to its end.
type Block struct {
	Owner  string            // the test that blocks, for the error
	Except []string          // hosts that may be called, with or without a port
	Tried  func(call string) // is called for each refused call; nil: is not
}

var (
	mu     sync.Mutex
	blocks []*Block
)

// Start activates b until end is called.
func (b *Block) Start() (end func()) {
	mu.Lock()
	defer mu.Unlock()
	blocks = append(blocks, b)
	return func() {
		mu.Lock()
		defer mu.Unlock()
		blocks = slices.DeleteFunc(blocks, func(other *Block) bool { return other == b })
	}
}

// Check returns nil if the host, with or without a port, may be called: if no block is
// active or all have an exception for it. Otherwise it is [ErrBlocked] with the place of
// the call in a test.
func Check(host string) error {
	standing := refusing(host)
	if len(standing) == 0 {
		return nil
	}
	call := fmt.Sprintf("a model was called at %s, %s", host, origin())
	var owners []string
	for _, b := range standing {
		owners = append(owners, b.Owner)
		if b.Tried != nil {
			b.Tried(call)
		}
	}
	return fmt.Errorf("%w by %s: %s", ErrBlocked, strings.Join(owners, ", "), call)
}

func refusing(host string) []*Block {
	mu.Lock()
	defer mu.Unlock()
	var standing []*Block
	for _, b := range blocks {
		if !b.excepts(host) {
			standing = append(standing, b)
		}
	}
	return standing
}

func (b *Block) excepts(host string) bool {
	name, _, err := net.SplitHostPort(host)
	if err != nil {
		name = host // it has no port
	}
	return slices.ContainsFunc(b.Except, func(e string) bool { return strings.EqualFold(e, host) || strings.EqualFold(e, name) })
}

// origin is the place in a test at which the goroutine is.
func origin() string {
	pcs := make([]uintptr, 64)
	frames := runtime.CallersFrames(pcs[:runtime.Callers(3, pcs)])
	for {
		f, more := frames.Next()
		if strings.HasSuffix(f.File, "_test.go") {
			function := f.Function[strings.LastIndexByte(f.Function, '/')+1:]
			return fmt.Sprintf("in %s (%s:%d)", function, filepath.Base(f.File), f.Line)
		}
		if !more {
			return "in a goroutine of its own"
		}
	}
}
