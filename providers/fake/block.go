package fake

import (
	"sync"

	"github.com/convene-go/convene/providers/internal/network"
)

// BlockNetwork refuses the calls of models that this library opens for vendors
// (packages langchain and bedrock) until t ends, and fails t when one is tried: a
// test that should use a fake must not cost money. A refused call is an error of kind
// Permanent that names the line of the test that made it, if it was made in the test's
// own goroutine.
//
// Hosts listed in except may be called, such as the "127.0.0.1" of an
// httptest.Server. The block is for the whole process, so also for tests that run
// in parallel with t. With a nil t it never ends: call it so in TestMain. Other uses of
// the network are not blocked, such as a host's own Model.
func BlockNetwork(t T, except ...string) {
	b := &network.Block{Owner: "TestMain", Except: append([]string(nil), except...)}
	if t == nil {
		b.Start()
		return
	}
	b.Owner = "a test"
	if named, ok := t.(interface{ Name() string }); ok {
		b.Owner = named.Name()
	}
	var mu sync.Mutex
	over := false // then t must not be failed any more
	b.Tried = func(call string) {
		mu.Lock()
		defer mu.Unlock()
		if !over {
			t.Errorf("the network is blocked, and %s", call)
		}
	}
	end := b.Start()
	t.Cleanup(func() {
		end()
		mu.Lock()
		defer mu.Unlock()
		over = true
	})
}
