package flowtest

import (
	"runtime"
	"strings"
	"sync/atomic"
	"testing"
	"testing/synctest"
)

// Bubble is synctest.Test with a better end: a deadlock in virtual time, or a
// goroutine that is left behind, fails the test and says where each goroutine
// waits. synctest.Test ends the whole test binary then.
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

// stacks are those of all goroutines.
func stacks() string {
	buf := make([]byte, 1<<20)
	return string(buf[:runtime.Stack(buf, true)])
}

// thisBubble is the name of the caller's bubble in stacks; "": it is in none.
func thisBubble() string {
	buf := make([]byte, 1<<10)
	return parseGoroutine(string(buf[:runtime.Stack(buf, false)])).bubble
}
