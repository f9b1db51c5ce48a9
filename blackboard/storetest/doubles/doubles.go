// Package doubles has a store that fails when a test tells it to, for tests of
// engines.
package doubles

import (
	"context"
	"errors"
	"slices"
	"sync"
	"time"

	"github.com/convene-go/convene/blackboard/runlog"
)

// ErrDouble is the error of calls that a [Double] makes fail.
var ErrDouble = errors.New("doubles: the store failed as it was told")

// Double makes the calls of a store fail. Without a fault it only forwards them.
// It is safe for concurrent use.
type Double struct {
	inner runlog.Store

	mu    sync.Mutex
	only  []string       // the methods that faults concern; nil: all
	fault fault          // the present fault
	calls map[string]int // how often each method was called
}

// fault is what happens to a call.
type fault struct {
	delay time.Duration // wait before a call; 0: none
	hang  bool          // calls block until their context is done
	fail  int           // calls still to fail
	lose  int           // calls still to change the store and fail then
}

// New returns a Double of s.
func New(s runlog.Store) *Double {
	return &Double{inner: s, calls: make(map[string]int)}
}

// Only limits the faults to these methods, such as "Append"; without names they concern
// all methods.
func (d *Double) Only(methods ...string) {
	d.mu.Lock()
	defer d.mu.Unlock()
	d.only = methods
}

// Fail makes the next n calls change nothing and return [ErrDouble].
func (d *Double) Fail(n int) { d.set(func(f *fault) { f.fail = n }) }

// Lose makes the next n calls that change the store (Append, Beat, Leave, Put, Take,
// PutBlob, Delete) do so and then return [ErrDouble], as if the confirmation was
// lost.
func (d *Double) Lose(n int) { d.set(func(f *fault) { f.lose = n }) }

// Hang makes all later calls change nothing and block until their context is done.
func (d *Double) Hang() { d.set(func(f *fault) { f.hang = true }) }

// Slow delays all later calls, unless their context is done before.
func (d *Double) Slow(delay time.Duration) { d.set(func(f *fault) { f.delay = delay }) }

// Heal ends all faults. Calls that hang or wait already still do.
func (d *Double) Heal() { d.set(func(f *fault) { *f = fault{} }) }

// Calls returns how often a method was called, failed calls included.
func (d *Double) Calls(method string) int {
	d.mu.Lock()
	defer d.mu.Unlock()
	return d.calls[method]
}

func (d *Double) set(change func(*fault)) {
	d.mu.Lock()
	defer d.mu.Unlock()
	change(&d.fault)
}

// next returns the fault for a call of method, and counts the call.
func (d *Double) next(method string) fault {
	d.mu.Lock()
	defer d.mu.Unlock()
	d.calls[method]++
	if d.only != nil && !slices.Contains(d.only, method) {
		return fault{}
	}
	f := d.fault
	if f.fail > 0 {
		d.fault.fail--
	} else if f.lose > 0 && slices.Contains(changing, method) {
		d.fault.lose--
	} else {
		f.lose = 0
	}
	return f
}

var changing = []string{"Append", "Beat", "Leave", "Put", "Take", "PutBlob", "Delete"}

// call makes a call with the current fault.
func (d *Double) call(ctx context.Context, method string, make func() error) error {
	f := d.next(method)
	if f.delay > 0 {
		delay := time.NewTimer(f.delay)
		defer delay.Stop()
		select {
		case <-delay.C:
		case <-ctx.Done():
			return ctx.Err()
		}
	}
	if f.hang {
		<-ctx.Done()
		return ctx.Err()
	}
	if f.fail > 0 {
		return ErrDouble
	}
	err := make()
	if err == nil && f.lose > 0 {
		err = ErrDouble
	}
	return err
}
