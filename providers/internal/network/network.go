// Package network says whether models may call out: tests block that for the whole
// process, see fake.BlockNetwork. Who opens models asks [Check] before each call.
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

// Block refuses calls while it stands.
type Block struct {
	Owner  string            // who blocks, for the error
	Except []string          // hosts that may be called, with or without a port
	Tried  func(call string) // is told of each refused call; nil: nobody is
}

var (
	mu     sync.Mutex
	blocks []*Block
)

// Start lets b stand until end is called.
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

// Check returns nil if the host, with or without a port, may be called: if no block
// stands or all make an exception. Otherwise it is [ErrBlocked], which tells where
// in a test the call comes from.
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

// origin is the place in a test that the goroutine was at.
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
