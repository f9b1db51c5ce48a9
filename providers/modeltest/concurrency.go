package modeltest

import (
	"fmt"
	"sync"
	"testing"

	"github.com/convene-go/convene/providers"
)

var concurrencyChecks = []check{
	{"OwnAnswers", concurrentAnswers},
	{"OwnStreams", concurrentStreams},
}

// together makes many calls at once, each with its own word. It reports the first wrong
// answer.
func together(t testing.TB, ask func(req providers.Request) (text string, err error)) {
	t.Helper()
	const callers, turns = 8, 4
	faults := make([]error, callers*turns)
	start := make(chan struct{})
	var calls sync.WaitGroup
	for i := range callers {
		calls.Go(func() {
			<-start
			for j := i * turns; j < (i+1)*turns; j++ {
				req, want := echo(j)
				if got, err := ask(req); err != nil || got != want {
					faults[j] = fmt.Errorf("the answer to a call beside others is %q, %w; want %q", got, err, want)
				}
			}
		})
	}
	close(start)
	calls.Wait()
	for _, fault := range faults {
		if fault != nil {
			t.Fatalf("%v", fault)
		}
	}
}

func concurrentAnswers(t testing.TB, open Open) {
	s := open(t, play(Echo))
	together(t, func(req providers.Request) (string, error) {
		r := generate(t.Context(), s.Model, req)
		return r.resp.Text, r.err
	})
}

func concurrentStreams(t testing.TB, open Open) {
	s := open(t, play(Echo))
	together(t, func(req providers.Request) (string, error) {
		var mu sync.Mutex // reports a model that mixes up its streams, without a race
		var said string
		req.OnText = func(chunk string) error {
			mu.Lock()
			defer mu.Unlock()
			said += chunk
			return nil
		}
		r := generate(t.Context(), s.Model, req)
		mu.Lock()
		defer mu.Unlock()
		return said, r.err
	})
}
