package flowtest

import (
	"runtime"
	"strings"
	"sync/atomic"
	"testing"
	"testing/synctest"
)

// Bubble runs f in a bubble of virtual time, like synctest.Test. A deadlock there, or a
// goroutine that is left behind, fails the test and says where each goroutine waits;
// synctest.Test would end the whole test binary.
func Bubble(t *testing.T, f func(t *testing.T)) {
	t.Helper()
	var id atomic.Value
	defer func() {
		t.Helper()
		v := recover()
		if v == nil {
			return
		}
		err, ok := v.(error)
		if !ok || !strings.HasPrefix(err.Error(), "deadlock") {
			panic(v)
		}
		bubble, _ := id.Load().(string)
		t.Fatalf("%v:%s", err, atMost(waits(stacks(), bubble)))
	}()
	synctest.Test(t, func(t *testing.T) {
		id.Store(thisBubble())
		f(t)
	})
}

// stacks returns the stacks of all goroutines, as package runtime prints them.
func stacks() string {
	buf := make([]byte, 1<<20)
	return string(buf[:runtime.Stack(buf, true)])
}

// thisBubble returns the name that the caller's bubble has in stacks; "": it is in none.
func thisBubble() string {
	buf := make([]byte, 1<<10)
	return parseGoroutine(string(buf[:runtime.Stack(buf, false)])).bubble
}
